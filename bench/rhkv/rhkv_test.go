package rhkv

import (
	"context"
	"errors"
	"reflect"
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
	c := Config{Log2: 10, From: 0.4, To: 0.49, Dist: ycsb.Latest, Seed: 1, Repeat: 2}
	run := func(c Config) (rows []Row, err error) {
		err = Run(t.Context(), c, func(r Row) { rows = append(rows, r) })
		return rows, err
	}
	a, err := run(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := run(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if len(a[i].Runs) != 2 || a[i].NsPerOp != (a[i].Runs[0]+a[i].Runs[1])/2 {
			t.Errorf("%+v", a[i])
		}
		a[i].NsPerOp, a[i].Runs, b[i].NsPerOp, b[i].Runs = 0, nil, 0, nil
		if !reflect.DeepEqual(a[i], b[i]) {
			t.Errorf("%+v, then %+v", a[i], b[i])
		}
		if a[i].Table == "g-cuckoo" && (a[i].Rehashes > 0 || a[i].Moved > 0 || a[i].Kicks == 0) {
			t.Errorf("%+v", a[i])
		}
	}
	if len(a) != 2*len(Shares) {
		t.Errorf("%d rows", len(a))
	}
	for _, c := range []Config{{Log2: 30}, {Repeat: -1}, {From: 0.5, To: 0.4}, {To: 0.6}} {
		if _, err := run(c); !errors.Is(err, harness.ErrConfig) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A run ends when it is stopped, also while it fills a table.
func TestRunStops(t *testing.T) {
	why := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	err := Run(ctx, Config{Log2: 8}, func(r Row) { t.Errorf("%+v", r) })
	if !errors.Is(err, why) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	rows := 0
	err = Run(ctx, Config{Log2: 8}, func(Row) { rows++; cancel(why) })
	if !errors.Is(err, why) || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestWrite: a time by that of the other table stands beside G-Cuckoo's, of one round or within several.
func TestWrite(t *testing.T) {
	rows := []Row{{Inserts: 20, Table: "g-cuckoo", NsPerOp: 115, Runs: []float64{115}}, {Inserts: 20, Table: "conventional", NsPerOp: 100, Runs: []float64{100}}}
	for _, want := range []string{"| 115 | 1.150 |\n", "| 115 | 1.500 +- 0.000 |\n"} {
		var b strings.Builder
		if err := Write(&b, rows); err != nil || !strings.Contains(b.String(), want) || !strings.HasSuffix(b.String(), "| 100 |  |\n") {
			t.Errorf("%v: no %q in\n%s", err, want, b.String())
		}
		rows[0].Runs, rows[1].Runs = []float64{150, 300}, []float64{100, 200}
	}
}

func TestElision(t *testing.T) {
	for flags, want := range map[string]string{"fpu hle rtm": "not built", "fpu avx": "impossible"} {
		if says := elisionOf("model name\t: P\nflags\t\t: " + flags + "\n"); !strings.Contains(says, want) || !strings.Contains(says, "(P)") {
			t.Errorf("%s: %s", flags, says)
		}
	}
}
