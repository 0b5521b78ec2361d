package rings

import (
	"math"
	"testing"

	"github.com/catfish-index/catfish/internal/replica/lane"
)

// The worked examples of the paper, with its S of 50 MB, its 32 GB and its 100 Gb/s.
func TestPaperSizes(t *testing.T) {
	const s, link, memory = 50e6, 100e9 / 8, 32e9
	for _, c := range []struct{ memory, link, want float64 }{
		{0.5, 0.2, 14e6},
		{0.9, 0.9, 0.35e6},
	} {
		l := Load{Throughput: c.link * link, Link: link, Used: c.memory * memory, Memory: memory}
		if got := l.sized(s); math.Abs(got-c.want) > 1 {
			t.Errorf("memory %v, link %v: %v bytes, want %v", c.memory, c.link, got, c.want)
		}
	}
}

// No load makes a ring that is too large, too small, or that cannot be registered.
func TestSizes(t *testing.T) {
	const m = 1 << 20
	for _, c := range []struct {
		name             string
		used, throughput float64 // shares
		least, most      int
	}{
		{"nothing used", 0, 0, autoBytes, autoBytes},
		{"at the threshold", 0.5, 0, autoBytes, autoBytes},
		{"just below the threshold", 0.5001, 0, 22 * m, 23 * m},
		{"a fifth free", 0.8, 0, 8 * m, 9 * m},
		{"almost no memory", 0.999, 0, MinAutoBytes, MinAutoBytes},
		{"no memory", 1, 0, MinAutoBytes, MinAutoBytes},
		{"no link", 0, 1, MinAutoBytes, MinAutoBytes},
		{"more than all of both", 1.5, 1.5, MinAutoBytes, MinAutoBytes},
		{"less than none", -1, -1, autoBytes, autoBytes},
	} {
		l := Load{Used: c.used * 1e9, Memory: 1e9, Throughput: c.throughput * 1e9, Link: 1e9}
		got := l.Bytes()
		if got < c.least || got > c.most {
			t.Errorf("%s: %d bytes, want %d to %d", c.name, got, c.least, c.most)
		}
		if err := CheckBytes(got); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if got := (Load{}).Bytes(); got != autoBytes {
		t.Errorf("nothing known: %d bytes", got)
	}
	if got := (Load{Used: math.NaN(), Memory: 1e9}).Bytes(); CheckBytes(got) != nil {
		t.Errorf("no number: %d bytes", got)
	}
	if l := Here(); CheckBytes(l.Bytes()) != nil {
		t.Errorf("here: %+v, %d bytes", l, l.Bytes())
	}
}

// More load never makes a larger ring.
func TestSizeFallsWithLoad(t *testing.T) {
	last := math.MaxInt
	for used := 0.0; used <= 1; used += 0.001 {
		got := Load{Used: used, Memory: 1}.Bytes()
		if got > last {
			t.Fatalf("%d bytes at %v, %d before", got, used, last)
		}
		last = got
	}
}

func TestCheckBytes(t *testing.T) {
	for n, want := range map[int]bool{
		0: false, -4096: false, lane.MinRingBytes: true, lane.MinRingBytes + 8: false, lane.MaxRingBytes: true, lane.MaxRingBytes + lane.MinRingBytes: false,
	} {
		if got := CheckBytes(n) == nil; got != want {
			t.Errorf("%d: %v", n, got)
		}
	}
}
