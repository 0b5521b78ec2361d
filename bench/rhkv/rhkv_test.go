package rhkv

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Conventional hashing finds all items, also after a rehash, and after one that fails.
func TestConventional(t *testing.T) {
	const items = 16 // of 32 places
	rehashes, failed := uint64(0), uint64(0)
	for seed := range uint64(3000) {
		c := newConventional(4, seed)
		before := uint64(0)
		for i := range uint64(items) {
			c.insert(i*0x9E3779B97F4A7C15, i+1)
			if c.rehashes > before+1 {
				failed++
			}
			before = c.rehashes
		}
		for i := range uint64(items) {
			if got := c.find(i * 0x9E3779B97F4A7C15); got != i+1 {
				t.Fatalf("seed %d, item %d: %d", seed, i, got)
			}
		}
		if c.find(1) != 0 {
			t.Error("finds what is not there")
		}
		rehashes += c.rehashes
	}
	if rehashes == 0 || failed == 0 {
		t.Errorf("%d rehashes, %d inserts with several", rehashes, failed)
	}
}

// Counts are equal in each run, and G-Cuckoo neither loops nor rehashes.
func TestRunCountsAgain(t *testing.T) {
	c := Config{Log2: 10, From: 0.4, To: 0.49, Dist: ycsb.Latest, Seed: 1}
	a, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		a[i].NsPerOp, b[i].NsPerOp = 0, 0
		if a[i] != b[i] {
			t.Errorf("%+v, then %+v", a[i], b[i])
		}
		if a[i].Table == "g-cuckoo" && (a[i].Rehashes > 0 || a[i].Moved > 0 || a[i].Kicks == 0) {
			t.Errorf("%+v", a[i])
		}
	}
	if len(a) != 2*len(Shares) {
		t.Errorf("%d rows", len(a))
	}
	for _, c := range []Config{{Log2: 30}, {From: 0.5, To: 0.4}, {To: 0.6}} {
		if _, err := Run(t.Context(), c); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestElision(t *testing.T) {
	for flags, want := range map[string]string{"fpu hle rtm": "not built", "fpu avx": "impossible"} {
		if says := elisionOf("model name\t: P\nflags\t\t: " + flags + "\n"); !strings.Contains(says, want) || !strings.Contains(says, "(P)") {
			t.Errorf("%s: %s", flags, says)
		}
	}
}
