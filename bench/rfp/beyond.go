package rfp

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
)

// Beyond the paper: fetched answers of services like Catfish over the same card,
// and where they pay for its tree. The sizes of fetches, and when clients fall
// back, are decided by the code of Catfish's client (package internal/fetch).

// Sizes for which no single fetch size is right: half of them are below 150
// bytes, a hundredth above 2400.
const (
	mixedMu, mixedSigma = 5, 1.2
	mixedMax            = 8000
)

// slow varies the time that the server works for a call.
func (l *lab) slow() Table {
	t := Table{Name: "service", Title: "A server that takes longer", Columns: []string{
		"fetch, Mops", "reads in vain", "fetch that falls back, Mops", "reads in vain", "written, %", "fetch that compares, Mops", "its written, %",
		"written, 8 threads, Mops", "4 threads",
	}, Text: []string{
		fmt.Sprintf("8 server threads, event-driven, 35 client threads, clients choose how much they fetch. \"Falls back\": after five"+
			" fetches in vain a client has that answer and those of the moment written. \"Compares\": Catfish's client, which also leaves fetching if more than an eighth of"+
			" its answers is late, and compares what calls take in both ways; the last %d of %d calls of each client. \"Written\": requests the same, every answer written, without waiting for completions.", shownCalls, settlesIn),
		"**Clients that compare end in the worse way here**, where the server is quick: threads that write wait for the card, so a trial of a few clients makes" +
			" the answers of all others late, these leave fetching, and a trial of fetched answers ends at the second late one. The tree's searches (below) do not show that.",
	}}
	units := []string{"Mops", "a call", "Mops", "a call", "%", "Mops", "%", "Mops", "Mops"}
	for _, ns := range []float64{250, 500, 1000, 2000, 4000, 8000, 16000} {
		f := l.run(at(fetched.taking(ns), 8, 35))
		h, c := l.run(at(hybrid.taking(ns), 8, 35)), l.run(at(compares.taking(ns), 8, 35).settled(f.MeanUs))
		t.row(fmt.Sprintf("%g us", ns/1e3), units, f.Mops, f.WastedReads, h.Mops, h.WastedReads, 100*h.Written, c.Mops, 100*c.Written,
			l.run(at(written.taking(ns), 8, 35)).Mops, l.run(at(written.taking(ns), 4, 35)).Mops)
	}
	return t
}

// fetchSizes varies the size of a first fetch.
func (l *lab) fetchSizes() Table {
	t := Table{Name: "fetch", Title: "How much to fetch", Columns: []string{"Mops", "mean us", "trips", "link out, %", "bytes of a first fetch"},
		Text: []string{fmt.Sprintf("8 server threads, 35 client threads, answers of 1 to %d bytes with a median of 150. A client that chooses"+
			" is Catfish's: it knows no card, fetches half as much again after a read that was too short, and an eighth less after others."+
			" \"Calibrated\" is the size that RFP's procedure gives (section 3.2 of its successor; `catfish bench rfp --calibrate`).", mixedMax)}}
	units := []string{"Mops", "us", "a call", "%", "bytes"}
	show := func(what string, bytes int) {
		r := l.run(at(fetched.fetching(bytes), 8, 35).sizes(l.mixed))
		t.row(what, units, r.Mops, r.MeanUs, r.Trips, 100*r.Out, r.FetchBytes)
	}
	for _, bytes := range []int{64, 256, 512, 1024, 4096} {
		show(fmt.Sprintf("%d bytes", bytes), bytes)
	}
	show("calibrated", l.calibrated(l.mixed))
	show("chosen", 0)
	return t
}

// calibrated is the calibrated size for results by a law.
func (l *lab) calibrated(law *sim.LogNormal) int {
	if l.err != nil {
		return 0
	}
	const calls = 500
	var samples []Sample
	for bytes := law.Min; len(samples) < calls; bytes++ {
		for len(samples) < calls && 1-law.Above(bytes) >= (float64(len(samples))+0.5)/calls {
			samples = append(samples, Sample{Bytes: bytes, WorkNs: getNs})
		}
	}
	c, err := Calibrate(l.ctx, l.cl, l.seed, samples)
	if err != nil {
		l.err = err
		return 0
	}
	return c.Chosen.FetchBytes
}

// sleeping compares workers that poll, sleep after a while, or sleep at once.
func (l *lab) sleeping() Table {
	t := Table{Name: "events", Title: "Workers that sleep", Columns: []string{
		"1 client, mean us", "reads in vain", "4 clients, mean us", "reads in vain", "35 clients, Mops", "reads in vain",
	}, Text: []string{
		"8 server threads. A worker that sleeps takes 3 us to wake and 5 us of a core; the first fetches come in vain meanwhile. Catfish's" +
			" wait for 40 us before they sleep: of a single client's calls some find one asleep, of more clients' hardly any.",
	}}
	units := []string{"us", "a call", "us", "a call", "Mops", "a call"}
	polls := fetched
	polls.scheme.Events = false
	for _, row := range []struct {
		what string
		of   service
		spin float64
	}{{"they poll", polls, 0}, {"after 40 us", fetched, 40_000}, {"at once", fetched, 0}} {
		cl := *l.cl
		cl.Server.SpinNs = row.spin
		other := &lab{ctx: l.ctx, cl: &cl, seed: l.seed, results: map[point]*sim.KVResult{}, err: l.err}
		a, b, c := other.run(at(row.of, 8, 1)), other.run(at(row.of, 8, 4)), other.run(at(row.of, 8, 35))
		l.err = other.err
		t.row(row.what, units, a.MeanUs, a.WastedReads, b.MeanUs, b.WastedReads, c.Mops, c.WastedReads)
	}
	return t
}

// treeObjects is the size of the searched tree.
const treeObjects = 400_000

// A series of the tables about the tree.
type series struct {
	name, scheme string
	workers      int // 0: as many as the cluster has
}

// search simulates spatial searches on a cluster. All answers of scheme fetch are fetched.
func (l *lab) search(cl *sim.Cluster, w *sim.Workload, scheme string, clients int) *sim.Result {
	return l.simulate(w, sim.Config{Cluster: cl, Scheme: scheme, Clients: clients, FetchAll: true,
		Duration: 3 * time.Millisecond, Warmup: 2 * time.Millisecond})
}

func (l *lab) simulate(w *sim.Workload, cfg sim.Config) *sim.Result {
	if l.err != nil {
		return new(sim.Result)
	}
	cfg.Seed = l.seed
	r, err := sim.Run(l.ctx, cfg, w)
	if err != nil {
		l.err = err
		return new(sim.Result)
	}
	return r
}

// workload opens a cluster and builds the tree to search on it; nil after an
// error.
func (l *lab) workload(cache *sim.Cache, name, scale string) (*sim.Cluster, *sim.Workload) {
	if l.err != nil {
		return nil, nil
	}
	cl, err := sim.Open(name)
	if err != nil {
		l.err = err
		return nil, nil
	}
	w, err := cache.Get(cl.Spec("uniform", treeObjects, scale, l.seed), l.note)
	if err != nil {
		l.err = err
		return nil, nil
	}
	return cl, w
}

// tree is Catfish's spatial searches on a cluster: Mops and mean us.
func (l *lab) tree(cache *sim.Cache, name string, clients []int, all []series) []Table {
	mops := Table{Name: "tree-" + name + "-mops", Title: "Searches of the tree, " + name + ", Mops"}
	us := Table{Name: "tree-" + name + "-us", Title: "Searches of the tree, " + name + ", mean us"}
	var units, unitsUs []string
	for _, s := range all {
		mops.Columns, us.Columns = append(mops.Columns, s.name), append(us.Columns, s.name)
		units, unitsUs = append(units, "Mops"), append(unitsUs, "us")
	}
	for _, scale := range []string{"1e-5", "1e-2"} {
		cl, w := l.workload(cache, name, scale)
		if cl == nil {
			return nil
		}
		for _, n := range clients {
			var rate, latency []float64
			for _, s := range all {
				of := *cl
				if s.workers > 0 {
					of.Server.Workers = s.workers
				}
				r := l.search(&of, w, s.scheme, n)
				rate, latency = append(rate, r.OpsPerS/1e6), append(latency, r.MeanUs)
			}
			what := fmt.Sprintf("%s (%.1f nodes, %.1f objects), %d clients", scale, w.Reads, w.Results, n)
			mops.row(what, units, rate...)
			us.row(what, unitsUs, latency...)
		}
	}
	return []Table{mops, us}
}

// trees shows where fetching pays for Catfish.
func (l *lab) trees() []Table {
	cache := new(sim.Cache)
	t := l.tree(cache, "connectx3", []int{35, 112}, []series{
		{"fast, 4 workers", "fast", 4}, {"fast, 6", "fast", 6}, {"fast, 16", "fast", 16}, {"fetch, 4 workers", "fetch", 4}, {"fetch, 16", "fetch", 16},
		{"offload", "offload", 0}, {"offload-cached", "offload-cached", 0},
	})
	t = append(t, l.tree(cache, "modern", []int{32, 200}, []series{
		{"fast", "fast", 0}, {"fetch", "fetch", 0}, {"offload", "offload", 0}, {"offload-cached", "offload-cached", 0},
	})...)
	t = append(t, l.decides(cache)...)
	if l.err != nil {
		return nil
	}
	t[0].Text = []string{
		fmt.Sprintf("Real searches of a tree of %d objects, by `bench sim` with scheme `fetch`: event-driven workers leave answers in the"+
			" server's memory, in lines of 64 bytes with the call's number in each; clients fetch all answers that are not late, choose how much they fetch as above, and have one answer written after"+
			" five fetches in vain. On this card fetching pays as soon as more threads can answer than may write (16 workers). 112 clients"+
			" contend at their own cards; where some of their answers are written, both ways together have the most.", treeObjects),
	}
	t[2].Text = []string{
		"A card that starts as many operations as it serves: there is nothing to gain. With few clients a fetched answer takes a round trip" +
			" more, and so their searches take longer; with very many the server's cores are the limit for both (not shown).",
	}
	return t
}
