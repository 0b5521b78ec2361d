package jakiro

import (
	"bytes"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// memory is memory that begins at a word, as a region's does at a page.
func memory(n int) []byte {
	words := make([]byte, n+word)
	return words[:n:n]
}

// TestRequestLayout: a status bit and the size in two bytes, the body, a byte that is 1; and
// a request is found when its last byte is, whatever the buffer held before.
func TestRequestLayout(t *testing.T) {
	mem, old := memory(128), bytes.Repeat([]byte{tail}, 100)
	for _, body := range [][]byte{{}, []byte("a"), []byte("sixteen bytes ok"), bytes.Repeat([]byte{tail}, 62), bytes.Repeat([]byte("long "), 18)} {
		putRequest(mem, old)
		if got, there, _ := request(mem); !there || !bytes.Equal(got, old) {
			t.Fatalf("the request before: %q, %t", got, there)
		}
		clearRequest(mem, len(old))
		made := memory(128)
		n := putRequest(made, body)
		if n != 3+len(body) || made[0] != byte(len(body)) || made[1] != 0x80 || made[n-1] != 1 {
			t.Fatalf("% x for a body of %d bytes", made[:n], len(body))
		}
		for k := range n {
			copy(mem, made[:k])
			if _, there, bad := request(mem); there || bad {
				t.Fatalf("%d of %d bytes: there %t, bad %t", k, n, there, bad)
			}
		}
		copy(mem, made[:n])
		if got, there, bad := request(mem); !there || bad || !bytes.Equal(got, body) {
			t.Fatalf("%q, there %t, bad %t, want %q", got, there, bad, body)
		}
		clearRequest(mem, len(body))
		if !bytes.Equal(mem, make([]byte, len(mem))) {
			t.Fatalf("not cleared: % x", mem)
		}
	}
	mem[0], mem[1] = 126, 0x80
	if _, there, bad := request(mem); there || !bad {
		t.Errorf("a body beyond the buffer: there %t, bad %t", there, bad)
	}
}

// TestResponseLayout: results lie in eight buffers round robin, and the one after the
// current one is empty.
func TestResponseLayout(t *testing.T) {
	r := responses{mem: memory(Buffers * 64), size: 64}
	for i := range 3 * Buffers {
		body := bytes.Repeat([]byte{byte(i + 1)}, i*2)
		r.put(body)
		b, next := r.buffer(i), r.buffer(i+1)
		if b[0] != byte(len(body)) || b[1] != 0x80 || !bytes.Equal(b[2:2+len(body)], body) {
			t.Fatalf("call %d: % x", i, b)
		}
		if next[0] != 0 || next[1] != 0 || r.current != (i+1)%Buffers {
			t.Fatalf("call %d: the next buffer has % x, the current one is %d", i, next[:2], r.current)
		}
	}
}

// noLines is a device that may tear lines.
type noLines struct{ rdma.Device }

func (noLines) Info() rdma.Info { return rdma.Info{Provider: "none", TornLines: true} }

type oneDevice struct{ rdma.Device }

func (oneDevice) Info() rdma.Info { return rdma.Info{} }

func TestConfig(t *testing.T) {
	for what, err := range map[string]error{
		"torn lines":      second(Listen(noLines{}, Config{Threads: 1, MaxBody: 10})),
		"no threads":      second(Listen(oneDevice{}, Config{MaxBody: 10})),
		"bodies too long": second(Listen(oneDevice{}, Config{Threads: 1, MaxBody: MaxBody + 1})),
		"no fetch":        second(Dial(t.Context(), oneDevice{}, "", 1, 1)),
		"a key":           (&Store{}).Put(t.Context(), []byte("short"), nil),
		"a value":         (&Store{}).Put(t.Context(), make([]byte, KeyBytes), make([]byte, MaxValue+1)),
	} {
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
