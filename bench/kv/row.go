package kv

import (
	"cmp"
	"math"
	"runtime"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Row is what `catfish bench kv` prints for one scheme: a JSON object per
// scheme. Columns that bench.Row has too have its names and meanings, with
// Gets for searches. With repeats every figure is the median of the runs and
// Spread holds the smallest and the largest.
type Row struct {
	Scheme    string `json:"scheme"`
	Label     string `json:"label,omitempty"`   // Config.Label
	Version   string `json:"version,omitempty"` // of other programs than Catfish
	Transport string `json:"transport"`
	Device    string `json:"device"` // what carries it: provider, card, port, GID
	Mix       string `json:"mix"`
	Dist      string `json:"dist"`
	// Theta is set for zipf and latest.
	Theta float64 `json:"theta,omitempty"`
	// TopKey is how often zipf's most popular key is drawn, in times of the mean.
	TopKey     float64 `json:"top_key_times_mean,omitempty"`
	Keys       uint64  `json:"keys"`
	ValueBytes int     `json:"value_bytes"`
	// LargestValueBytes is set if sizes differ.
	LargestValueBytes int `json:"largest_value_bytes,omitempty"`

	Clients  int    `json:"clients"`
	InFlight int    `json:"in_flight"`
	Batch    int    `json:"batch"` // keys per GetMany
	Procs    int    `json:"client_procs"`
	Shards   int    `json:"shards"`              // of Catfish's collection, 0: it is not divided
	Table    string `json:"table"`               // of its key index
	Items    int    `json:"items"`               // of a bucket of that
	MaxBytes int64  `json:"max_bytes,omitempty"` // its limit, if it is a cache
	Sync     string `json:"sync,omitempty"`      // when a write is durable; empty: nothing is kept
	// Pointers is Config.Pointers, of schemes that keep references.
	Pointers string `json:"pointers,omitempty"`
	// Of schemes fetch and literal, if they were given.
	FetchBytes   int  `json:"fetch_bytes,omitempty"`
	FetchRetries int  `json:"fetch_retries,omitempty"`
	FetchAlways  bool `json:"fetch_always,omitempty"`
	// SharedPointers: the client processes kept references together.
	SharedPointers bool   `json:"shared_pointers,omitempty"`
	ServerCPUs     string `json:"server_cpus"` // empty: not pinned
	ClientCPUs     string `json:"client_cpus"`

	Figures

	// Values that were read and checked, in all runs, and the wrong ones.
	Checked int64 `json:"answers_checked"`
	Wrong   int64 `json:"answers_wrong"`

	Simulated bool    `json:"simulated"` // always false here
	Seed      uint64  `json:"seed"`
	WarmupS   float64 `json:"warmup_s"`
	DurationS float64 `json:"duration_s"`
	Repeat    int     `json:"repeat"`
	Commit    string  `json:"commit"`

	// Runs are the throughputs of the single runs in the order of the rounds.
	Runs []float64 `json:"runs_ops_per_s"`
	// RunsMean are their mean latencies.
	RunsMean []float64 `json:"runs_mean_us"`
	// ByOp has the latencies of each kind of operation in the mix, over all
	// runs.
	ByOp map[string]bench.OpFigures `json:"by_op"`
	// CDF has the latencies in us of each kind of operation, over all runs: those that 5 % of
	// the calls do not exceed, 10 %, ... 100 %.
	CDF map[string][]float64 `json:"cdf_us"`
	// Spread maps a figure's name to its smallest and largest value.
	Spread map[string][2]float64 `json:"spread,omitempty"`
}

// Figures are the measured numbers of a row. OpsPerS counts keys, not batches;
// Results are right values per key read.
type Figures struct {
	bench.Figures
	// Shares of the Gets, 0 to 1: with a right cached reference, with an
	// invalid one.
	PointerHits    float64 `json:"pointer_hits"`
	PointerInvalid float64 `json:"pointer_invalid"`
	// Of the key index when the run ended, and of its whole life: items moved
	// per insertion, items in the stash and the most so far, load factor.
	Kicks      float64 `json:"kicks_per_insert"`
	Stash      float64 `json:"stash_items"`
	StashMost  float64 `json:"stash_most"`
	LoadFactor float64 `json:"load_factor"` // 0 to 1
	// Of a cache: keys read that had a record, 0 to 1; without MaxBytes 0.
	HitRate float64 `json:"hit_rate"`
	// ServerPosts are the work requests that the server posted, per request by message.
	ServerPosts float64 `json:"server_posts_per_request"`
	// Resident bytes of the server when the run ended.
	Resident float64 `json:"server_resident_bytes"`
}

// newRow turns the runs of one scheme, at least one, into its row.
func newRow(cfg Config, scheme string, runs []*outcome) Row {
	w, info := &cfg.Workload, runs[0].clients[0].Info
	pointers, shared := cfg.pointers(scheme)
	row := Row{
		Scheme: scheme, Label: cfg.Label, Version: runs[0].server.Version, Transport: info.Transport, Device: info.Device,
		Mix: w.Mix.String(), Dist: w.Dist.String(),
		Keys: w.Keys, ValueBytes: w.ValueBytes, LargestValueBytes: w.LargestValueBytes,
		Clients: cfg.Clients, InFlight: cfg.inFlight(scheme), Batch: cfg.Batch, Procs: cfg.Procs, Shards: cfg.Shards,
		FetchBytes: cfg.FetchBytes, FetchRetries: cfg.FetchRetries, FetchAlways: cfg.FetchAlways,
		SharedPointers: shared != "", Sync: cfg.Sync,
		Pointers: pointers, Table: cfg.Table.String(), Items: cmp.Or(cfg.Items, cuckoo.MaxItems), MaxBytes: cfg.MaxBytes,
		ServerCPUs: cfg.ServerCPUs.String(), ClientCPUs: cfg.ClientCPUs.String(), Seed: w.Seed,
		WarmupS: cfg.Warmup.Seconds(), DurationS: cfg.Duration.Seconds(), Repeat: cfg.Repeat, Commit: cfg.Commit,
		ByOp: map[string]bench.OpFigures{}, CDF: map[string][]float64{},
	}
	if w.Dist != ycsb.Uniform {
		row.Theta = w.Theta
	}
	if w.Dist == ycsb.Zipfian {
		row.TopKey = math.Round(10*topKey(w.Keys, w.Theta)) / 10 // equal on all machines
	}
	byKind := latencies(w.Mix)
	var figures [][]stats.Figure
	for _, o := range runs {
		f := o.figures(cfg)
		figures = append(figures, stats.Figures(&f))
		row.Runs, row.RunsMean = append(row.Runs, f.OpsPerS), append(row.RunsMean, f.MeanUs)
		a := o.answers()
		row.Checked, row.Wrong = row.Checked+a.Checked, row.Wrong+a.Wrong
		for _, s := range o.samples {
			merge(&byKind, s)
		}
	}
	for k, l := range byKind {
		if l != nil && l.Count() > 0 {
			row.ByOp[ycsb.Kind(k).String()] = bench.OpFiguresOf(l)
			row.CDF[ycsb.Kind(k).String()] = cdf(l)
		}
	}
	row.Spread = stats.Summarize(stats.Figures(&row.Figures), figures)
	return row
}

// topKey is the share of rank 1 by Zipf's law, in times of 1/n. Of the sum of all ranks' weights the first ones
// are added; the others are the area below the curve, to a millionth.
func topKey(n uint64, theta float64) float64 {
	head := min(n, 1000)
	sum := 0.0
	for i := head; i > 0; i-- {
		sum += math.Pow(float64(i), -theta)
	}
	from, to := float64(head)+0.5, float64(n)+0.5
	if theta == 1 {
		sum += math.Log(to / from)
	} else {
		sum += (math.Pow(to, 1-theta) - math.Pow(from, 1-theta)) / (1 - theta)
	}
	return float64(n) / sum
}

// cdf is the distribution of latencies in steps of a twentieth.
func cdf(l *latency.Distribution) []float64 {
	var us []float64
	for q := 1; q <= 20; q++ {
		us = append(us, stats.Micros(l.Quantile(float64(q)/20)))
	}
	return us
}

// merge adds a sample's latencies.
func merge(to *[kinds]*latency.Distribution, s *Sample) {
	for k, l := range s.Latency {
		if l != nil && to[k] != nil {
			to[k].Merge(l)
		}
	}
}

// figures adds up the client processes of one run.
func (o *outcome) figures(cfg Config) Figures {
	byKind, all := latencies(cfg.Workload.Mix), latency.New()
	var opsPerS, cores float64
	var c Counters
	for _, s := range o.samples {
		merge(&byKind, s)
		ops := int64(0)
		for _, l := range s.Latency {
			if l != nil {
				ops += l.Count()
			}
		}
		opsPerS += stats.Ratio(float64(ops), s.Elapsed.Seconds())
		cores += stats.Ratio(s.CPU.Seconds(), s.Elapsed.Seconds())
		c = c.Add(s.Counters)
	}
	gets := int64(0)
	for k, l := range byKind {
		if l == nil {
			continue
		}
		all.Merge(l)
		if k := ycsb.Kind(k); k == ycsb.Read || k == ycsb.ReadModifyWrite {
			gets += l.Count()
		}
	}
	f := Figures{Figures: bench.NewFigures(all, c.Counters)}
	f.OpsPerS, f.ClientUtil = opsPerS, min(1, cores/float64(coresOf(cfg)))
	f.Resident = float64(o.after.Usage.Resident)
	use := o.after.Usage.Since(o.before.Usage)
	f.CPUUtil, f.NetIn, f.NetOut = use.Util, use.NetIn, use.NetOut
	// Traffic is per call, by the counters' number of calls: a busy core may
	// put milliseconds between reading the counters and the latencies.
	asked, calls := float64(c.Fast+c.Offloaded), float64(all.Count())
	if gets > 0 && asked > 0 {
		calls *= asked / float64(gets)
	}
	f.Bytes = stats.Ratio(float64(c.Bytes), calls)
	// So are the reads of answers, which writes have, too.
	f.AnswerReads, f.AnswersMissed = stats.Ratio(float64(c.AnswerReads), calls), stats.Ratio(float64(c.AnswersMissed), calls)
	f.Trips += f.AnswerReads
	f.Reads += f.AnswerReads
	f.ServerPosts = stats.Ratio(float64(o.after.Posts.Posted-o.before.Posts.Posted), float64(o.after.Posts.Requests-o.before.Posts.Requests))
	f.PointerHits = stats.Ratio(float64(c.PointerHits), asked)
	f.PointerInvalid = stats.Ratio(float64(c.PointerInvalid), asked)
	a := o.answers()
	f.Results = stats.Ratio(float64(a.Checked-a.Wrong-a.Missed), float64(a.Checked))
	if cfg.MaxBytes > 0 {
		f.HitRate = stats.Ratio(float64(a.Checked-a.Wrong-a.Missed), float64(a.Checked))
	}
	x := o.after.Index
	f.Kicks = stats.Ratio(float64(x.Kicks), float64(x.Inserts))
	f.Stash, f.StashMost, f.LoadFactor = float64(x.Stash), float64(x.StashMost), x.Load
	return f
}

// coresOf counts the clients' cores.
func coresOf(cfg Config) int {
	if n := len(cfg.ClientCPUs); n > 0 {
		return n
	}
	return runtime.NumCPU()
}
