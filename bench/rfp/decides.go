package rfp

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// Clients that decide by their calls' times whether answers are fetched.

// A server whose clients decide.
type decided struct {
	cluster string
	clients int
	scale   string
	key     string // key of the cluster that differs
	value   float64
	what    string
}

var decidedServers = []decided{
	{"modern", 32, "1e-5", "server.nic.out_mops", 180, "modern, 32 clients, starts %g Mops"},
	{"modern", 200, "1e-5", "server.nic.out_mops", 180, "modern, 200 clients, starts %g Mops"},
	{"modern", 200, "1e-5", "server.nic.out_mops", 40, "modern, 200 clients, starts %g Mops"},
	{"modern", 200, "1e-5", "server.nic.out_mops", 20, "modern, 200 clients, starts %g Mops"},
	{"modern", 200, "1e-5", "server.nic.out_mops", 10, "modern, 200 clients, starts %g Mops"},
	{"modern", 200, "1e-2", "server.nic.out_mops", 10, "modern, 200 clients, starts %g Mops"},
	{"modern", 200, "1e-2", "server.nic.gbit_s", 40, "modern, 200 clients, sends %g Gbit/s"},
	{"modern", 200, "1e-2", "server.nic.gbit_s", 10, "modern, 200 clients, sends %g Gbit/s"},
	{"connectx3", 35, "1e-5", "server.nic.out_mops", 2.11, "connectx3, 35 clients, starts %g Mops"},
	{"connectx3", 112, "1e-5", "server.nic.out_mops", 2.11, "connectx3, 112 clients, starts %g Mops"},
	{"connectx3", 35, "1e-2", "server.nic.out_mops", 2.11, "connectx3, 35 clients, starts %g Mops"},
}

const (
	// decidedCalls is how many calls of each client are simulated, and shownCalls how
	// many of these are measured, at the end.
	decidedCalls = 5000
	shownCalls   = 500
	// The number of steps in which the course is shown.
	decidedSteps = 10
)

func (d decided) String() string { return d.scale + ", " + fmt.Sprintf(d.what, d.value) }

// decides shows the clients' final choices, and the course to them.
func (l *lab) decides(cache *sim.Cache) []Table {
	end := Table{Name: "tree-decides", Title: "Searches of the tree, clients that compare written and fetched answers", Columns: []string{
		"fast, Mops", "mean us", "all fetched, Mops", "mean us", "fetch, Mops", "mean us", "written, %", "by the better of both",
	}, Text: []string{
		fmt.Sprintf("A server of today, one that may start fewer operations than its card serves (a limit of packets, or a card that others"+
			" share), one with a slower link, and the paper's. \"fetch\" is the scheme as it is: each client begins with fetched answers, and compares what its"+
			" calls take in either way, with the rule of package fastmsg itself. Measured are the last %d of %d calls of each client, in which"+
			" trials of the other way have become rarer, but are not yet as rare as they will be.", shownCalls, decidedCalls),
		"Where neither way is the better one for all, clients end in both: those that write leave the units that serve reads to the others," +
			" until both ways take about the same.",
	}}
	way := Table{Name: "tree-settles", Title: "How many clients at once come to rest", Text: []string{
		fmt.Sprintf("The same runs, each cut into %d equal times: searches, the share of answers that were written, and how many times a client"+
			" stayed in the other way after a trial. All clients begin at once, which is the worst case.", decidedSteps),
	}}
	units := []string{"Mops", "us", "Mops", "us", "Mops", "us", "%", "times"}
	var wayUnits []string
	steps := make([][]float64, decidedSteps)
	for _, d := range decidedServers {
		base, w := l.workload(cache, d.cluster, d.scale)
		if base == nil {
			return nil
		}
		cl := *base
		if err := cl.Set(d.key, d.value); err != nil {
			l.err = err
			return nil
		}
		fast, all := l.search(&cl, w, "fast", d.clients), l.search(&cl, w, "fetch", d.clients)
		better := min(fast.MeanUs, all.MeanUs)
		calls := func(n int) time.Duration { return time.Duration(float64(n)*better) * time.Microsecond }
		cfg := sim.Config{Cluster: &cl, Scheme: "fetch", Clients: d.clients, Warmup: calls(decidedCalls - shownCalls),
			Duration: max(calls(shownCalls), time.Millisecond)}
		r := l.simulate(w, cfg)
		end.row(d.String(), units, fast.OpsPerS/1e6, fast.MeanUs, all.OpsPerS/1e6, all.MeanUs,
			r.OpsPerS/1e6, r.MeanUs, 100*r.Written, r.OpsPerS/max(fast.OpsPerS, all.OpsPerS))
		if d.key == "server.nic.out_mops" && d.value <= 10 && d.scale == "1e-5" {
			cfg.Warmup, cfg.Duration, cfg.Sample = 0, calls(decidedCalls), calls(decidedCalls)/decidedSteps
			watched := l.simulate(w, cfg)
			way.Columns = append(way.Columns, d.String()+": Mops", "written, %", "moves")
			wayUnits = append(wayUnits, "Mops", "%", "moves")
			for i := range min(decidedSteps, len(watched.Series)) {
				s := watched.Series[i]
				steps[i] = append(steps[i], s.OpsPerS/1e6, 100*s.Written, float64(s.Moves))
			}
		}
	}
	if l.err != nil {
		return nil
	}
	for i, values := range steps {
		way.row(fmt.Sprintf("%d of %d", i+1, decidedSteps), wayUnits, values...)
	}
	return []Table{end, way}
}
