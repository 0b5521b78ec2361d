package rhkv

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
)

// A processor's cache has the last lines of each set, and no other.
func TestProcessorCache(t *testing.T) {
	p := new(processorCache)
	var same []uint64 // lines of one set
	set := func(line uint64) uint64 { return line * 0x9E3779B97F4A7C15 >> 32 % modelSets }
	for line := uint64(1); len(same) < modelWays+1; line++ {
		if set(line) == set(1) {
			same = append(same, line)
		}
	}
	for _, line := range same[:modelWays] {
		if !p.touch(line) || p.touch(line) {
			t.Fatalf("line %d", line)
		}
	}
	p.touch(same[0])
	if !p.touch(same[modelWays]) || p.touch(same[0]) || !p.touch(same[1]) {
		t.Error("the line that went is not the least recently used one")
	}
}

// TestCountRecent: without skew a cache saves lookups by its size, and costs a line; counts are equal in each run.
func TestCountRecent(t *testing.T) {
	c := Recent{Keys: 1000, Entries: []int{1, 1 << 20}, Gets: 20_000, Seed: 1}
	a, err := CountRecent(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := CountRecent(c)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ saved, lines float64 }{{0, 2}, {0.001, 2.998}, {1, 1}} {
		if r := a[i]; r != b[i] || r.Saved < want.saved-0.01 || r.Saved > want.saved+0.01 || r.Lines < want.lines-0.02 || r.Lines > want.lines+0.02 {
			t.Errorf("%+v, %+v, want %+v", r, b[i], want)
		}
	}
	// All of 1,000 keys' lines fit into the processor's cache.
	if a[0].Missed > 0.01 {
		t.Errorf("%+v", a[0])
	}
	// By Zipf's law a single entry has a key twice in a row as often as the sum of its shares' squares.
	c.Theta, c.Entries = 1, []int{1}
	if a, err = CountRecent(c); err != nil || a[1].Saved < 0.02 || a[1].Saved > 0.04 {
		t.Errorf("%+v, %v", a, err)
	}
	var w strings.Builder
	if err := WriteRecent(&w, a); err != nil || !strings.Contains(w.String(), "| 1000 | 1 | 0 | 0.0 % | 2.00 |") {
		t.Errorf("%v: %s", err, w.String())
	}
	for _, c := range []Recent{{Keys: 1}, {Gets: 1}, {Keys: 1, Gets: 1, Entries: []int{3}}, {Keys: 1, Gets: 1, Theta: 11}} {
		if _, err := CountRecent(c); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
