package paper

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// rea02Queries are those with 100 results each of the rea02 benchmark.
var rea02Queries = []string{"QR2"}

// fitted are the names of the numbers that FitKeys are fitted to.
var fitted = map[string]bool{
	"7 1e-5/fast-polling": true, // at both ends
	"10 1e-5/paper":       true,
	"11 1e-5/paper":       true,
	"11 1e-5/fast":        true,
}

// predictions are all numbers of the paper that this project knows, not
// simulated yet.
func predictions() []Prediction {
	var ps []Prediction
	for _, n := range Numbers {
		p := Prediction{Number: n, Fitted: fitted[n.Figure+" "+n.Name()]}
		// Node size and spread of heartbeats were chosen with an eye on
		// Catfish at all scales, the slower Ethernet on the ratio to tcp.
		p.Seen = !p.Fitted && (n.Series == "paper" && n.Against == "" ||
			n.Figure == "10" && n.Against == "tcp")
		at := trial{n.Series, n.Panel, "uniform", n.X, 0}
		switch {
		case n.Metric == MeanUs:
			p.find = latencyOf(at)
		case n.Metric == KopsS:
			p.find = kopsOf(at)
		case n.Metric == Saves:
			p.find = savedByMultiIssue
		case n.Experiment == "hybrid":
			p.find = upTo(n.Against, "uniform", paperScales, 10)
		case n.Experiment == "rea02":
			p.find = upTo(n.Against, "rea02-like", rea02Queries, 0)
		default:
			p.find = upTo(n.Against, "uniform", paperScales, 0)
		}
		ps = append(ps, p)
	}
	return ps
}

// FitKeys are the free parameters of the paper's cluster; the marked
// numbers determine them.
var FitKeys = []string{
	"server.request_ns", "server.wake_ns", "server.crowding", "client.think_ns", "tree.block_bytes",
}

// FitGoals are the marked numbers, to fit a cluster to.
func FitGoals(cache *sim.Cache, objects int, duration time.Duration, seed uint64) []sim.Goal {
	var goals []sim.Goal
	for _, p := range predictions() {
		if !p.Fitted {
			continue
		}
		goals = append(goals, sim.Goal{
			Of: fmt.Sprintf("figure %s, %s", p.Figure, p.What()), Want: p.Value,
			Measure: func(ctx context.Context, cl *sim.Cluster) (float64, error) {
				// The workload's note, not one for each run.
				l := &lab{ctx: ctx, cluster: cl, cache: cache, objects: objects, duration: duration,
					seed: seed, note: func(string) {}, done: map[trial]*sim.Result{}}
				return p.find(l)
			},
		})
	}
	return goals
}
