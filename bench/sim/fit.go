package sim

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/rstar"
)

// A cluster's costs are fitted by the simulator itself: it runs with changed
// costs until its results are as near to the measured numbers as possible.
// Each cost in order is multiplied and divided by a step; a change that helps
// is kept; when none does, the step shrinks. The simulator is deterministic,
// so noise cannot mislead the search; it ends in a local optimum near the
// values in the cluster's file.

// Goal is one target of a fit.
type Goal struct {
	Of   string // for the output
	Want float64
	// Measure simulates it, with the current costs.
	Measure func(ctx context.Context, cl *Cluster) (float64, error)
}

// The schedule of steps: from doubtful to a tenth of the differences between
// single runs on this kind of machine.
var fitSteps = []float64{1.6, 1.25, 1.1, 1.04, 1.01}

// fitPasses is how often all costs are tried with one step at most, and
// worthwhile the share of the error that a change must take away: policies
// that switch back and forth make tiny gains without end.
const (
	fitPasses  = 3
	worthwhile = 0.01
)

// stay is the weight of staying near the file's values, so that costs that no
// goal distinguishes do not wander: a factor of e counts like an error of 3 %.
const stay = 0.03

// Fitted is the result of Fit.
type Fitted struct {
	Keys   []string
	Values []float64
	Goals  []Goal
	Got    []float64 // by goal
	Runs   int
}

// ErrFit is wrapped by errors about the costs and goals of a fit. It wraps
// harness.ErrConfig.
var ErrFit = fmt.Errorf("%w: fit", harness.ErrConfig)

// Fit changes the numbers of cl called keys. note gets lines about progress.
func Fit(ctx context.Context, cl *Cluster, keys []string, goals []Goal, note func(string)) (*Fitted, error) {
	if len(goals) == 0 {
		return nil, fmt.Errorf("%w: nothing to fit to", ErrFit)
	}
	f := &Fitted{Keys: keys, Goals: goals, Values: make([]float64, len(keys)), Got: make([]float64, len(goals))}
	first := make([]float64, len(keys))
	for i, k := range keys {
		v, err := cl.Get(k)
		if err != nil {
			return nil, err
		}
		if v <= 0 {
			return nil, fmt.Errorf("%w: %s is %v, want a first guess above 0", ErrFit, k, v)
		}
		f.Values[i], first[i] = v, v
	}
	got := make([]float64, len(goals))
	loss := func(values []float64) (float64, error) {
		for i, k := range keys {
			if err := cl.Set(k, values[i]); err != nil {
				return 0, err
			}
		}
		if cl.Validate() != nil {
			return math.Inf(1), nil // Beyond a limit: refuse this change.
		}
		f.Runs++
		sum := 0.0
		for i := range goals {
			v, err := goals[i].Measure(ctx, cl)
			if err != nil {
				return 0, err
			}
			got[i] = v
			d := math.Log(v / goals[i].Want)
			sum += d * d
		}
		for i := range values {
			d := stay * math.Log(values[i]/first[i])
			sum += d * d
		}
		return sum, nil
	}
	best, err := loss(f.Values)
	if err != nil {
		return nil, err
	}
	copy(f.Got, got)
	for _, step := range fitSteps {
		for pass, better := 0, true; better && pass < fitPasses; pass++ {
			better = false
			for i := range keys {
				for _, by := range []float64{step, 1 / step} {
					try := append([]float64(nil), f.Values...)
					try[i] *= by
					l, err := loss(try)
					if err != nil {
						return nil, err
					}
					if l < best*(1-worthwhile) {
						best, f.Values, better = l, try, true
						copy(f.Got, got)
						break
					}
				}
			}
			note(fmt.Sprintf("fitting: %d runs, mean error %.1f %%", f.Runs*len(goals),
				100*math.Sqrt(best/float64(len(goals)))))
		}
	}
	_, err = loss(f.Values) // Sets the best values in the cluster.
	return f, err
}

// Write writes the values as lines for the cluster's file, with the goals
// as comments.
func (f *Fitted) Write(w io.Writer) error {
	var err error
	say := func(format string, args ...any) {
		if _, e := fmt.Fprintf(w, format, args...); err == nil && e != nil {
			err = fmt.Errorf("sim: writing the fit: %w", e)
		}
	}
	for i, g := range f.Goals {
		say("# %s: wanted %.5g, simulated %.5g, ratio %.3f\n", g.Of, g.Want, f.Got[i], f.Got[i]/g.Want)
	}
	for i, k := range f.Keys {
		say("%s = %.4g\n", k, f.Values[i])
	}
	return err
}

// rowKeys are the costs that determine a scheme's rows.
func rowKeys(rows []bench.Row) []string {
	has := func(f func(r *bench.Row) bool) bool {
		for i := range rows {
			if f(&rows[i]) {
				return true
			}
		}
		return false
	}
	wide := has(func(r *bench.Row) bool { return r.Results > 1 })
	var keys []string
	add := func(when bool, more ...string) {
		if when {
			keys = append(keys, more...)
		}
	}
	fast := has(func(r *bench.Row) bool {
		return r.Scheme != "offload" && r.Scheme != "offload-single" && r.Scheme != "tcp"
	})
	offload := has(func(r *bench.Row) bool { return r.Scheme == "offload" || r.Scheme == "offload-single" })
	add(fast, "server.request_ns", "client.message_ns")
	add(fast && wide, "server.result_ns", "client.result_ns")
	add(offload, "client.search_ns", "client.node_ns")
	add(offload && wide, "client.leaf_result_ns")
	add(has(func(r *bench.Row) bool { return r.Scheme == "tcp" }), "tcp.server_ns", "tcp.client_ns")
	add(has(func(r *bench.Row) bool { return r.Mix != "search=100" }), "server.insert_ns")
	return keys
}

// RowGoals are the measured numbers of rows: throughputs, and for schemes that
// use them the utilisation of the server's cores. keys are the costs to change.
func RowGoals(rows []bench.Row, cl *Cluster, cache *Cache, duration time.Duration,
	note func(string)) (goals []Goal, keys []string, err error) {
	for i := range rows {
		row := rows[i]
		mix, err := bench.ParseMix(row.Mix)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: row %d: %w", ErrFit, i+1, err)
		}
		shares, err := MixOf(mix)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: row %d: %w", ErrFit, i+1, err)
		}
		spec := cl.Spec(row.Dataset, row.Objects, row.Scale, row.Seed)
		spec.Inserts = row.Inserts
		spec.Strategy = row.Strategy
		spec.Inserted = 0
		if row.Inserted {
			spec.Inserted = 1
		}
		w, err := cache.Get(spec, note)
		if err != nil {
			return nil, nil, err
		}
		// One simulation serves both goals of a row.
		var last *Result
		run := func(ctx context.Context, cl *Cluster) (*Result, error) {
			return Run(ctx, Config{
				Cluster: cl, Scheme: row.Scheme, Clients: row.Clients, InFlight: row.InFlight,
				Mix: shares, Duration: duration, Warmup: duration / 4, Seed: row.Seed,
				Backoff: row.Backoff,
			}, w)
		}
		of := fmt.Sprintf("%s, %s %s, %s", row.Scheme, row.Dataset, row.Scale, row.Mix)
		if row.Strategy != rstar.Revised || row.Inserted {
			of += ", " + bench.TreeText(row.Strategy, row.Inserted)
		}
		if !row.Backoff.IsPaper() {
			of += ", " + row.Backoff.String()
		}
		goals = append(goals, Goal{Of: of + ", ops/s", Want: row.OpsPerS,
			Measure: func(ctx context.Context, cl *Cluster) (float64, error) {
				var err error
				if last, err = run(ctx, cl); err != nil {
					return 0, err
				}
				return last.OpsPerS, nil
			}})
		// Below a tenth it is heartbeats and noise.
		if row.CPUUtil > 0.1 && row.Scheme != "fast-polling" {
			goals = append(goals, Goal{Of: of + ", server CPU", Want: row.CPUUtil,
				Measure: func(context.Context, *Cluster) (float64, error) { return last.CPUUtil, nil }})
		}
	}
	return goals, rowKeys(rows), nil
}
