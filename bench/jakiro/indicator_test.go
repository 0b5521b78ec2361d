package jakiro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"
)

// TestMessageLayout: a word with the size, the body, zeros to a word, a word that is 1; and a
// message is found when its last word is, whatever the sender's buffer held before.
func TestMessageLayout(t *testing.T) {
	mem := memory(256)
	for _, body := range [][]byte{{}, []byte("a"), []byte("8 bytes."), []byte("sixteen bytes ok"), bytes.Repeat([]byte{1}, 62), bytes.Repeat([]byte("long "), 40)} {
		made := bytes.Repeat([]byte{0xee}, 256)
		n := putMessage(made, body)
		end := 8 + (len(body)+7)/8*8
		if n != end+8 || n > messageBytes(len(body)) || binary.LittleEndian.Uint32(made) != uint32(len(body)) || binary.LittleEndian.Uint32(made[4:]) != 1 ||
			!bytes.Equal(made[8:end], append(bytes.Clone(body), make([]byte, end-8-len(body))...)) || binary.LittleEndian.Uint64(made[end:]) != 1 {
			t.Fatalf("% x for a body of %d bytes", made[:n], len(body))
		}
		for k := range n / 8 {
			copy(mem, made[:k*8])
			if _, there, bad := message(mem); there || bad {
				t.Fatalf("%d of %d bytes: there %t, bad %t", k*8, n, there, bad)
			}
		}
		copy(mem, made[:n])
		if got, there, bad := message(mem); !there || bad || !bytes.Equal(got, body) {
			t.Fatalf("%q, there %t, bad %t, want %q", got, there, bad, body)
		}
		if clearMessage(mem, len(body)); !bytes.Equal(mem, make([]byte, len(mem))) {
			t.Fatalf("not cleared: % x", mem)
		}
	}
	for what, first := range map[string]uint64{
		"a body beyond the buffer": 1<<32 | 241, "far beyond": 1<<33 - 1, "no indicator": 8, "another one": 2<<32 | 8,
	} {
		binary.LittleEndian.PutUint64(mem, first)
		if _, there, bad := message(mem); there || !bad {
			t.Errorf("%s: there %t, bad %t", what, there, bad)
		}
	}
	binary.LittleEndian.PutUint64(mem, 1<<32|240)
	if _, there, bad := message(mem); there || bad {
		t.Errorf("a body as large as the buffer allows: there %t, bad %t", there, bad)
	}
}

// TestPause: a shard that finds nothing yields once, and again until 100 ns have passed.
func TestPause(t *testing.T) {
	for yields, want := range map[time.Duration]int{30: 4, 50: 2, 100: 1, 1000: 1} {
		var at time.Time
		got := 0
		pause(func() time.Time { return at }, func() {
			got++
			at = at.Add(yields)
		})
		if got != want {
			t.Errorf("with yields of %v: %d, want %d", yields, got, want)
		}
	}
}

func TestIndicatorConfig(t *testing.T) {
	for _, n := range []int{0, MaxBody + 1} {
		if _, err := DialIndicators(t.Context(), oneDevice{}, "", 1, n); !errors.Is(err, ErrConfig) {
			t.Errorf("bodies of %d bytes: %v", n, err)
		}
	}
}
