package btree

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/longer"
)

// TestRun: each kind of scheme gives right answers, and its operations have the round trips
// that they must have: the tree has two levels with 600 keys, and with 1200.
func TestRun(t *testing.T) {
	cfg := Config{Schemes: []string{Local, "fast", "fast-polling", "fetch", "offload", "paper", "cost"}, Keys: 600, Range: 30, Clients: 3,
		Scans: 30, Writes: 30, Transport: "shm", Seed: 5}
	var rows []Row
	longer.Measure(t, 30*time.Millisecond, func(d time.Duration) error {
		rows, cfg.Duration = rows[:0], d
		if err := Run(t.Context(), cfg, func(string) {}, func(r Row) { rows = append(rows, r) }); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Ops["get"].Count == 0 || r.Ops["scan"].Count == 0 || r.Ops["write"].Count == 0 {
				return fmt.Errorf("not each kind of operation in %+v", r)
			}
		}
		return nil
	})
	for i, r := range rows {
		get, scan, write := r.Ops["get"], r.Ops["scan"], r.Ops["write"]
		if r.Scheme != cfg.Schemes[i] || r.Wrong != 0 || r.OpsPerS <= 0 || scan.Items < 29 {
			t.Errorf("%+v", r)
		}
		trips := map[string]float64{Local: 0, "fast": 1, "fast-polling": 1, "fetch": 1, "offload": 2}
		// Beside writers an offloaded get may read a node again, or one more.
		exact := get.Trips == trips[r.Scheme] || r.Scheme == "offload" && get.Trips > 2
		if want, ok := trips[r.Scheme]; ok && (!exact || scan.Trips < want || r.Scheme == "offload" != (r.Offloaded == 1)) {
			t.Errorf("%s: gets %v round trips, scans %v, offloaded %v; want %v", r.Scheme, get.Trips, scan.Trips, r.Offloaded, want)
		}
		if want := min(trips[r.Scheme], 1); write.Trips != want && r.Scheme != "paper" && r.Scheme != "cost" {
			t.Errorf("%s: writes of %v round trips, want %v", r.Scheme, write.Trips, want)
		}
	}
	cfg.Schemes, cfg.Writes = []string{"offload"}, 0
	longer.Measure(t, 10*time.Millisecond, func(d time.Duration) error {
		cfg.Duration = d
		var r Row
		if err := Run(t.Context(), cfg, func(string) {}, func(one Row) { r = one }); err != nil {
			t.Fatal(err)
		}
		get := r.Ops["get"]
		if get.Count == 0 {
			return fmt.Errorf("no get in %+v", r)
		}
		if get.Trips != 2 || r.FellBack != 0 || r.Wrong != 0 {
			t.Errorf("without writers: %+v", r)
		}
		return nil
	})
	var table bytes.Buffer
	if err := WriteTable(&table, rows); err != nil || strings.Count(table.String(), "\n") != 4+3*len(rows) {
		t.Errorf("%v:\n%s", err, &table)
	}
}

// TestOracle: each kind of wrong answer is noticed.
func TestOracle(t *testing.T) {
	o := newOracle(1, 2) // It owns the odd places 3, 7, 11, ...
	o.owned[7] = true
	at := func(places ...uint64) (items []Item) {
		for _, p := range places {
			items = append(items, Item{keyAt(p), valueOf(keyAt(p))})
		}
		return items
	}
	for _, right := range [][]Item{at(2, 4, 6, 7, 8), at(2, 4, 5, 6, 7, 8, 9)} {
		if err := o.check(right, 2, 9); err != nil {
			t.Error(err)
		}
	}
	value, key := at(2, 4, 6, 7, 8), at(2, 4, 6, 7, 8)
	value[2].Value++
	key[0].Key++
	for says, wrong := range map[string][]Item{
		"place 4 is missing":       at(2, 6, 7, 8),
		"place 2 is missing":       at(4, 6, 7, 8),
		"place 8 is missing":       at(2, 4, 6, 7),
		"place 7 is missing":       at(2, 4, 6, 8),
		"place 3 has a key":        at(2, 3, 4, 6, 7, 8),
		"place 4, after that of 4": at(2, 4, 4, 6, 7, 8),
		"place 10, after that":     at(2, 4, 6, 7, 8, 10),
		"was never put":            value,
		"with value":               key,
	} {
		if err := o.check(wrong, 2, 9); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want an error with %q: %v", says, err)
		}
	}
}

// TestWrongAnswers: a tree that has lost a key, or has one too many, fails a run.
func TestWrongAnswers(t *testing.T) {
	cfg := Config{Keys: 20, Range: 1, Clients: 1}
	tree, err := New(make([]byte, SlabBytes(40)))
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(&cfg, 0)
	for i := range uint64(20) {
		if err := tree.Put(keyAt(2*i), valueOf(keyAt(2*i))); err != nil {
			t.Fatal(err)
		}
	}
	compare := func() string {
		wrong, err := compareAll(tree, []*user{u})
		if err != nil {
			t.Fatal(err)
		}
		return wrong
	}
	if wrong := compare(); wrong != "" {
		t.Error(wrong)
	}
	if err := tree.Put(keyAt(5), valueOf(keyAt(5))); err != nil {
		t.Fatal(err)
	}
	if wrong := compare(); !strings.Contains(wrong, "place 5") {
		t.Errorf("one key too many: %q", wrong)
	}
	u.oracle.owned[5] = true
	if _, err := tree.Delete(keyAt(8)); err != nil {
		t.Fatal(err)
	}
	if n, first := firstWrong([]*user{u}, compare()); n != 1 || !strings.Contains(first, "place 8") {
		t.Errorf("a lost key: %d, %q", n, first)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Schemes: Schemes(), Keys: 10, Range: 10, Clients: 1, Scans: 50, Writes: 50, Duration: time.Second, Transport: "soft"}
	if err := good.Validate(); err != nil || !slices.Contains(good.Schemes, "paper") || slices.Contains(good.Schemes, "tcp") {
		t.Errorf("%v, %v", err, good.Schemes)
	}
	for says, change := range map[string]func(*Config){
		"unknown scheme \"tcp\"":     func(c *Config) { c.Schemes = []string{"tcp"} },
		"unknown transport \"ofi\"":  func(c *Config) { c.Transport = "ofi" },
		"range is 11, want 1 to 10":  func(c *Config) { c.Range = 11 },
		"keys is 0":                  func(c *Config) { c.Keys = 0 },
		"clients is 2000":            func(c *Config) { c.Clients = 2000 },
		"scans 51 % and writes 50 %": func(c *Config) { c.Scans = 51 },
		"at least 10ms":              func(c *Config) { c.Duration = time.Microsecond },
	} {
		c := good
		change(&c)
		if err := c.Validate(); !errors.Is(err, harness.ErrConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
}
