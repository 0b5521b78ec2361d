package rfp

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// lab simulates the requested points, each once. The first error stays, and no
// simulation runs after it.
type lab struct {
	ctx     context.Context
	cl      *sim.Cluster
	seed    uint64
	note    func(string)
	results map[point]*sim.KVResult
	weibo   *sim.LogNormal
	mixed   *sim.LogNormal // sizes of beyond.go
	err     error
}

// point is one simulation of a key-value service.
type point struct {
	service          service
	threads, clients int
	get, value       int
	dist             ycsb.Dist
	law              *sim.LogNormal // instead of value
	long             bool           // enough for shares of a thousandth
	settles          time.Duration  // a call's time, for clients that compare: see settled
}

const (
	shortRun = 8 * time.Millisecond
	longRun  = 60 * time.Millisecond
	warmup   = 2 * time.Millisecond
	// settlesIn is after how many calls clients that compare are taken to have settled.
	settlesIn = 3000
)

// at is the paper's usual workload: 95 % GETs, values of 32 bytes, uniform keys.
func at(v service, threads, clients int) point {
	return point{service: v, threads: threads, clients: clients, get: 95, value: 32}
}

// The best numbers of threads, by the paper.
var (
	jakiroPeak    = at(jakiro, 4, 35)
	replyPeak     = at(serverReply, 6, 28)
	memcachedPeak = at(memcached, 16, 21)
)

func (p point) gets(percent int) point       { p.get = percent; return p }
func (p point) values(bytes int) point       { p.value = bytes; return p }
func (p point) zipf() point                  { p.dist = ycsb.Zipfian; return p }
func (p point) sizes(l *sim.LogNormal) point { p.law = l; return p }

// settled measures shownCalls of each client, after settlesIn-shownCalls of some us each.
func (p point) settled(us float64) point {
	p.settles = time.Duration(us * 1e3)
	return p
}

func (p point) longer() point { p.long = true; return p }

func (p point) fetching(bytes int) point {
	p.service = p.service.fetching(bytes)
	return p
}

// run returns the result of a point, of zeros after an error.
func (l *lab) run(p point) *sim.KVResult {
	if r := l.results[p]; r != nil {
		return r
	}
	if l.err != nil {
		return new(sim.KVResult)
	}
	cfg := sim.KVConfig{
		Cluster: l.cl, Scheme: p.service.scheme, Costs: p.service.costs, Threads: p.threads, Clients: p.clients,
		GetPercent: p.get, Keys: keys, Dist: p.dist, Sizes: sim.KVSizes{Bytes: p.value, Law: p.law},
		Duration: shortRun, Warmup: warmup, Seed: l.seed,
	}
	if p.long {
		cfg.Duration = longRun
	}
	if p.settles > 0 {
		cfg.Warmup, cfg.Duration = (settlesIn-shownCalls)*p.settles, max(shownCalls*p.settles, time.Millisecond)
	}
	r, err := sim.RunKV(l.ctx, cfg)
	if err != nil {
		l.err = err
		return new(sim.KVResult)
	}
	l.results[p] = r
	return r
}

// verbs returns million operations a second, 0 after an error.
func (l *lab) verbs(v sim.Verbs) float64 {
	if l.err == nil {
		l.err = context.Cause(l.ctx)
	}
	if l.err != nil {
		return 0
	}
	v.Cluster, v.Seed = l.cl, l.seed
	m, err := v.Mops()
	if err != nil {
		l.err = err
	}
	return m
}

// outbound is table I: inlined writes by the server's threads.
func (l *lab) outbound(threads, machines, bytes int) float64 {
	return l.verbs(sim.Verbs{FromServer: true, Op: sim.MicroWrite, Bytes: bytes, Threads: threads, Machines: machines})
}

// inbound is the rate of reads by the clients' threads.
func (l *lab) inbound(bytes int) float64 {
	return l.verbs(sim.Verbs{Op: sim.MicroRead, Bytes: bytes, Threads: 35})
}

// crossover is the size from which on reads are no faster than the server's writes.
func (l *lab) crossover() float64 {
	const step, end = 256, 8192
	for bytes := step; bytes <= end && l.err == nil; bytes += step {
		in := l.inbound(bytes)
		out := 0.0
		for _, threads := range []int{4, 5, 6} {
			out = max(out, l.outbound(threads, 7, bytes))
		}
		if in <= 1.05*out {
			return float64(bytes)
		}
	}
	return end
}
