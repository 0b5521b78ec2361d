package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// offloadCost is the share of fast messaging's processor time of a search
// that offloading may cost the server over shared memory. It costs its
// heartbeats only: 0.4 % of a core where fast messaging takes 93 %, and a
// run of a few milliseconds may hold one garbage collection.
const offloadCost = 0.5

// Check tests properties that hold on any machine, however slow or busy:
// counts, and orderings that are far apart. It returns the number of tests and
// the failures. It skips missing measurements.
func Check(points map[string]Point) (tests int, failed []string) {
	test := func(ok bool, format string, args ...any) {
		tests++
		if !ok {
			failed = append(failed, fmt.Sprintf(format, args...))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(points)) {
		checkPoint(points[key], test)
	}
	for _, p := range largest(points) {
		checkOrder(p, func(series string) (Point, bool) {
			for _, q := range points {
				if q.Series == series && q.Experiment == p.Experiment && q.Panel == p.Panel &&
					q.Network == p.Network && q.Row.Clients == p.Row.Clients &&
					(series == tcp.Name || q.Row.Transport == p.Row.Transport) {
					return q, true
				}
			}
			return Point{}, false
		}, test)
	}
	return tests, failed
}

// checkPoint tests the properties of a single point.
func checkPoint(p Point, test func(bool, string, ...any)) {
	want := int64(p.Settings.Requests) * int64(p.Row.Clients)
	if d := p.Row.Detail; d == nil {
		test(false, "%s: has no detail", p.Key)
	} else {
		test(len(d.Calls) == p.Settings.Repeat, "%s: %d runs, want %d", p.Key, len(d.Calls), p.Settings.Repeat)
		made := int64(0)
		for _, n := range d.Calls {
			made += n
			test(n == want || n < want && p.Row.Cut > 0, "%s: %d calls, want %d", p.Key, n, want)
		}
		asked := want * int64(len(d.Calls))
		test(made+p.Row.Cut == asked, "%s: %d calls and %d cut, want %d", p.Key, made, p.Row.Cut, asked)
		test(p.Row.Cut == 0 || p.Settings.Duration > 0, "%s: %d calls are missing", p.Key, p.Row.Cut)
	}
	r := p.Row
	test(r.OpsPerS > 0 && r.MeanUs > 0 && r.P50Us <= r.P99Us, "%s: figures %+v", p.Key, r.Figures)
	switch p.Series {
	case tcp.Name, fast.Name, polling.Name:
		test(r.Offload == 0, "%s: offloads %.1f %%", p.Key, 100*r.Offload)
		test(r.Reads == 0, "%s: %.2f reads a search", p.Key, r.Reads)
	case offload.Name, single.Name, cached.Name:
		// With inserts a search may give up and use messages.
		low := 1.0
		if r.ByOp["insert"].Count > 0 {
			low = 0.9
		}
		test(r.Offload >= low, "%s: offloads %.1f %%", p.Key, 100*r.Offload)
	case catfish.Name:
		// Algorithm 1: no offloading without a heartbeat above T. Only the
		// last run's is kept, so this holds for a single one.
		t := p.Settings.Backoff.WithDefaults().T
		if p.Settings.Repeat == 1 && r.Detail != nil && r.Detail.PeakUtil <= t {
			test(r.Offload == 0, "%s: offloads %.1f %%, though no heartbeat above %.0f %% (%.1f %% at most)",
				p.Key, 100*r.Offload, 100*t, 100*r.Detail.PeakUtil)
		}
	}
	if r.ByOp["insert"].Count == 0 && p.Experiment == "hybrid" {
		test(false, "%s: nothing was inserted", p.Key)
	}
}

// largest returns one point of each experiment, panel, network and transport
// at the largest number of clients, where queues have formed.
func largest(points map[string]Point) []Point {
	type where struct{ experiment, panel, network, transport string }
	best := map[where]Point{}
	for _, p := range points {
		w := where{p.Experiment, p.Panel, p.Network.Name, p.Row.Transport}
		if q, ok := best[w]; p.Series != tcp.Name && (!ok || p.Row.Clients > q.Row.Clients) {
			best[w] = p
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b Point) int { return cmp.Compare(a.Key, b.Key) })
}

// checkOrder compares the series at the place of p.
func checkOrder(p Point, at func(series string) (Point, bool), test func(bool, string, ...any)) {
	f, haveFast := at(fast.Name)
	t, haveTCP := at(tcp.Name)
	o, haveOffload := at(offload.Name)
	s, haveSingle := at(single.Name)
	host := p.Network.Rate == 0
	cost := func(q Point) float64 { return q.Row.CPUUtil / q.Row.OpsPerS }
	// By processor time: calls per second of a few milliseconds on a shared
	// machine depend on when other programs had the cores. Through a token
	// bucket messages of either kind may meet the same limit.
	if haveFast && haveTCP && host {
		test(cost(f) <= cost(t), "%s: fast messaging costs the server %.2f us of its cores a call, tcp %.2f",
			f.Key, 1e6*cost(f), 1e6*cost(t))
	}
	// Only where reads are one-sided: elsewhere the server's processor
	// emulates the card. And inserts cost the server in every scheme.
	if haveFast && haveOffload && host && o.Row.ByOp["insert"].Count == 0 {
		test(cost(o) <= offloadCost*cost(f),
			"%s: costs the server %.2f us of its cores a search, fast messaging %.2f",
			o.Key, 1e6*cost(o), 1e6*cost(f))
	}
	if c, ok := at(cached.Name); ok && haveOffload {
		// The searches that read lines fill the cache; heads that leave a
		// candidate, repairs and restarts cost a round trip. Inserts of the
		// paper's kind, skewed and as large as the searches, change nodes that
		// many searches use.
		trips, restarts, repairs := 1.5, 0.05, 0.2
		if c.Row.ByOp["insert"].Count > 0 {
			trips, restarts, repairs = 3, 1, 0.5
		}
		test(c.Row.Trips <= trips && c.Row.Trips < o.Row.Trips, "%s: cached nodes need %.2f round trips, %.2f without",
			c.Key, c.Row.Trips, o.Row.Trips)
		test(c.Row.Bytes < o.Row.Bytes, "%s: cached nodes move %.0f bytes a search, %.0f without", c.Key, c.Row.Bytes, o.Row.Bytes)
		test(c.Row.Cached > 0, "%s: no cached node was used", c.Key)
		test(c.Row.Restarts < restarts && c.Row.Repairs < repairs, "%s: %.3f restarts and %.3f repairs a search, want less than %v and %v",
			c.Key, c.Row.Restarts, c.Row.Repairs, restarts, repairs)
	}
	if haveSingle && haveOffload {
		test(o.Row.Trips <= s.Row.Trips, "%s: multi-issue needs %.2f round trips, single-issue %.2f",
			o.Key, o.Row.Trips, s.Row.Trips)
		// The same queries, the same nodes; a run's warm-up blurs a little.
		test(o.Row.Reads <= 1.1*s.Row.Reads+0.1, "%s: multi-issue reads %.2f nodes, single-issue %.2f",
			o.Key, o.Row.Reads, s.Row.Reads)
	}
}
