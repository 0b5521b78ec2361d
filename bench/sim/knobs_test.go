package sim

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// TestBackoffOfConfig: the simulated clients have the configured N and T: a
// server that is 90 % busy is busy to those with T = 80 % only, and a wider
// window offloads more from a saturated one.
func TestBackoffOfConfig(t *testing.T) {
	w := small(t, "1e-5")
	cl := openCluster(t, "paper")
	offloaded := func(clients int, scheme string, b policy.Backoff) float64 {
		cfg := Config{Cluster: cl, Scheme: scheme, Clients: clients, Warmup: 20 * time.Millisecond, Duration: 50 * time.Millisecond, Backoff: b}
		r := simulate(t, cfg, w)
		row := NewRow(cfg, w, r, "abc")
		if row.Backoff != bench.BackoffOf(scheme, b) || row.Offload != r.Offload {
			t.Errorf("%s, %v: row %+v", scheme, b, row.Backoff)
		}
		return r.Offload
	}
	for _, scheme := range []string{"paper", "paper-literal"} {
		if at95, at80 := offloaded(40, scheme, policy.Backoff{}), offloaded(40, scheme, policy.Backoff{T: 0.8}); at95 != 0 || !(at80 > 0) {
			t.Errorf("%s, server 90 %% busy: %v offloaded with T = 95 %%, %v with 80 %%, want none and some", scheme, at95, at80)
		}
		if n2, n32 := offloaded(256, scheme, policy.Backoff{N: 2}), offloaded(256, scheme, policy.Backoff{N: 32}); !(n32 > n2) {
			t.Errorf("%s, saturated server: %v offloaded with N = 32, %v with N = 2, want more", scheme, n32, n2)
		}
	}
	if b := (policy.Backoff{T: 0.8}); offloaded(40, "fast", b) != 0 {
		t.Error("fast offloads")
	}
}

// TestStrategyOfSpec: the simulated tree is built with the spec's strategy and
// share of inserts.
func TestStrategyOfSpec(t *testing.T) {
	var shapes []int
	for _, by := range []rstar.Strategy{rstar.Revised, rstar.Original} {
		for _, inserted := range []float64{0, 1} {
			cl := openCluster(t, "thismachine")
			cl.Tree.Strategy, cl.Tree.Inserted = by, inserted
			if err := cl.Validate(); err != nil {
				t.Fatal(err)
			}
			w := workload(t, cl.Spec("uniform", 20_000, "1e-2", 1))
			if w.Spec.Strategy != by || w.Spec.Inserted != inserted {
				t.Errorf("%+v", w.Spec)
			}
			cfg := Config{Cluster: cl, Scheme: "fast", Clients: 2, Duration: time.Millisecond}
			row := NewRow(cfg, w, simulate(t, cfg, w), "abc")
			if row.Strategy != by || row.Inserted != (inserted == 1) {
				t.Errorf("%+v", row.Row)
			}
			shapes = append(shapes, len(w.nodes))
		}
	}
	slices.Sort(shapes)
	if n := len(slices.Compact(shapes)); n < 3 { // Loaded ones may be alike.
		t.Errorf("%d trees, searched by %v nodes", n, shapes)
	}
	partly := Spec{Inserted: 0.25, Strategy: rstar.Original}
	if s := partly.treeText(); !strings.Contains(s, "original") || !strings.Contains(s, "last 25 %") {
		t.Error(s)
	}
}

// TestRowsOfKnobs: rows that were measured with another tree or another
// back-off are not mixed, and are simulated with their own settings.
func TestRowsOfKnobs(t *testing.T) {
	const row = `{"scheme":"paper","dataset":"uniform","objects":1000,"scale":"1e-2","mix":"search=100",` +
		`"clients":8,"in_flight":16,"ops_per_s":1000,"seed":1`
	rows, err := ReadRows(strings.NewReader(row + "}" + row + `,"backoff":{"n":8,"t":0.95,"predictor":"latest"}}` +
		row + `,"strategy":"original"}` + row + `,"strategy":"original","inserted":true}` +
		row + `,"backoff":{"n":16,"t":0.95,"predictor":"mean"}}`))
	if err != nil || len(rows) != 4 { // The first two have one set-up.
		t.Fatalf("%v, %+v", err, rows)
	}
	var cache Cache
	goals, _, err := RowGoals(rows, openCluster(t, "thismachine"), &cache, time.Millisecond, func(string) {})
	if err != nil || len(goals) != 4 {
		t.Fatalf("%v, %d goals", err, len(goals))
	}
	for i, says := range []string{
		"search=100, ops/s", "original R*-tree, loaded at once, ops/s", "original R*-tree, objects inserted one by one, ops/s",
		"N = 16, T = 95 %, predictor mean, ops/s",
	} {
		if !strings.HasSuffix(goals[i].Of, says) {
			t.Errorf("%q does not say %q", goals[i].Of, says)
		}
	}
	trees := map[Spec]bool{}
	for s := range cache.made {
		s.NodeBytes = 0
		trees[s] = true
	}
	one := Spec{Dataset: "uniform", Objects: 1000, Scale: "1e-2", Inserts: bench.DataInserts, Seed: 1}
	two, three := one, one
	two.Strategy = rstar.Original
	three.Strategy, three.Inserted = rstar.Original, 1
	if len(trees) != 3 || !trees[one] || !trees[two] || !trees[three] {
		t.Errorf("trees %+v", trees)
	}
	for _, bad := range []string{`,"backoff":{"n":-1}}`, `,"strategy":"best"}`} {
		if _, err := ReadRows(strings.NewReader(row + bad)); !errors.Is(err, ErrFit) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
