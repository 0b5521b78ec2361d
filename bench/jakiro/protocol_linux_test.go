package jakiro

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
)

// pair is a server whose threads look when the test says so, and a client: all accesses to the
// buffers are of one goroutine, so no step depends on time.
type pair struct {
	*Server
	*Client
	t *testing.T
}

func newPair(t *testing.T, fetchBytes int, serve Handler) pair {
	t.Helper()
	s, err := listen(open(t), Config{Addr: filepath.Join(t.TempDir(), "socket"), Threads: 2, MaxBody: 600, Serve: serve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return pair{s, nil, t}.client(fetchBytes)
}

// client is the pair with another client.
func (p pair) client(fetchBytes int) pair {
	p.t.Helper()
	c, err := Dial(p.t.Context(), open(p.t), p.Server.Addr(), 2, fetchBytes)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	p.Client = c
	return p
}

func open(t *testing.T) rdma.Device {
	t.Helper()
	dev, err := shm.Open(shm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func (p pair) send(thread int, body []byte) {
	p.t.Helper()
	if err := p.Client.send(p.t.Context(), &p.lanes[thread], body); err != nil {
		p.t.Fatal(err)
	}
}

func (p pair) take(thread int) ([]byte, bool) {
	p.t.Helper()
	got, there, err := p.Client.proto.take(p.t.Context(), p.Client, &p.lanes[thread], nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return got, there
}

// look lets a server thread look once.
func (p pair) look(thread int) bool {
	return p.Server.look(p.t.Context(), thread, &p.Server.threads[thread])
}

func echo(thread int, dst, body []byte) []byte { return append(append(dst, byte(thread)), body...) }

// TestProtocol: each call's result is its own, for all sizes, on laps of the buffers: a fetch before the
// thread has looked finds nothing, though results of earlier laps lie there. A result that is longer
// than F takes one Read more.
func TestProtocol(t *testing.T) {
	const f = 36
	p := newPair(t, f, echo)
	var want Counts
	for call := range 5 * Buffers {
		for thread := range 2 {
			body := bytes.Repeat([]byte{byte(call + 1)}, call*call%500)
			p.send(thread, body)
			if got, there := p.take(thread); there {
				t.Fatalf("call %d: fetched %q before it was served", call, got)
			}
			if !p.look(thread) || p.look(thread) {
				t.Fatalf("call %d: a thread must find one request", call)
			}
			got, there := p.take(thread)
			if !there || !bytes.Equal(got, append([]byte{byte(thread)}, body...)) {
				t.Fatalf("call %d of %d bytes: %d bytes, there %t", call, len(body), len(got), there)
			}
			want.Calls, want.Vain, want.Reads = want.Calls+1, want.Vain+1, want.Reads+2
			want.Sent += uint64(3 + len(body))
			want.Fetched += 2 * f
			if rest := 2 + 1 + len(body) - f; rest > 0 {
				want.Rests, want.Reads, want.Fetched = want.Rests+1, want.Reads+1, want.Fetched+uint64(rest)
			}
		}
	}
	if got := p.Counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if p.Served() != want.Calls {
		t.Errorf("served %d of %d", p.Served(), want.Calls)
	}
}

// TestHostileRequest: a header that says more than the buffer holds ends that client only.
func TestHostileRequest(t *testing.T) {
	p := newPair(t, 36, echo)
	for _, c := range p.threads[0].all() {
		c.requests.Bytes()[1] = 0xff
	}
	if p.look(0) || !p.threads[0].all()[0].dead {
		t.Fatal("served a request beyond its buffer")
	}
	other := p.client(36)
	other.send(0, []byte("x"))
	other.look(0)
	if got, there := other.take(0); !there || string(got) != "\x00x" {
		t.Errorf("another client of the thread has %q, %t", got, there)
	}
}

// TestStore: the store's requests and results, as a thread sees them.
func TestStore(t *testing.T) {
	m, err := NewMap(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	key := func(i int) []byte { return fmt.Appendf(nil, "key %012d", i) }
	put := func(i int, value string) []byte { return fmt.Appendf(key(i), "%c\x00%s", len(value), value) }
	for i, step := range []struct{ body, want []byte }{
		{key(1), nil}, {put(1, "one"), nil}, {key(1), []byte("\x03\x00one")}, {put(1, ""), nil}, {key(1), []byte{0, 0}},
		{key(2), nil}, {append(key(1), 0xff, 0xff), []byte{0, 0}}, {append(key(1), 0xff, 0xff), nil}, {key(1), nil},
		{[]byte("short"), []byte("\xff\xffjakiro: protocol")}, {append(key(1), 1), []byte("\xff\xffjakiro: protocol")},
	} {
		if got := m.Serve(0, nil, step.body); !bytes.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
}

// TestUnknownThread: a client that dials a thread that is not there is refused.
func TestUnknownThread(t *testing.T) {
	p := newPair(t, 36, echo)
	var refused *rdma.RejectError
	if _, err := Dial(t.Context(), open(t), p.Server.Addr(), 3, 36); !errors.As(err, &refused) {
		t.Errorf("%v", err)
	}
}
