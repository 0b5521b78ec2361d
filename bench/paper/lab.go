package paper

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/sim"
)

// tcp40 is TCP over the faster of the paper's two Ethernets: in simulated
// rows, in the table of looks, and in the figures that have two lines of TCP.
// Measured, it is tcp in a network of 40 Gbit/s.
var tcp40 = Series{Name: "tcp-40g", Title: "TCP/IP, 40 Gbit/s"}

const fasterEthernet = 40 // Gbit/s, section V-A

// lab is a View of a simulated cluster. It simulates each point once, on its
// first use.
type lab struct {
	ctx     context.Context
	base    sim.Config // common to all points
	cache   *sim.Cache
	objects int
	note    func(string)
	done    map[spot]Value
	err     error // the first
}

func newLab(ctx context.Context, base sim.Config, cache *sim.Cache, objects int, note func(string)) *lab {
	return &lab{ctx: ctx, base: base, cache: cache, objects: objects, note: note, done: map[spot]Value{}}
}

// of describes what all points have in common.
func (l *lab) of() string {
	spec := l.base.Cluster.Spec("", l.objects, "", l.base.Seed)
	return fmt.Sprintf("cluster %s, %d objects, %s, %v, %v each, seed %d", l.base.Cluster.Name, l.objects,
		bench.TreeText(spec.Strategy, spec.Inserted == 1), l.base.Backoff, l.base.Duration, l.base.Seed)
}

// Stands is the number itself.
func (l *lab) Stands(_ string, clients int) int { return clients }

// Clients are the paper's.
func (l *lab) Clients(experiment string) []int { return experimentNamed(experiment).Paper }

// At returns false after an error.
func (l *lab) At(experiment, panel, series string, clients int) (Value, bool) {
	at := spot{experiment, panel, series, clients}
	if v, ok := l.done[at]; ok {
		return v, true
	}
	if l.err != nil {
		return Value{}, false
	}
	v, err := l.run(at)
	if err != nil {
		l.err = err
		return Value{}, false
	}
	l.done[at] = v
	return v, true
}

func (l *lab) run(at spot) (Value, error) {
	var p Panel
	for _, p = range experimentNamed(at.experiment).Panels {
		if p.Name == at.panel {
			break
		}
	}
	dataset, scale := p.Dataset, p.Scale
	if dataset == rea02 {
		dataset, scale = "rea02-like", QuerySet
	}
	cfg := l.base
	w, err := l.cache.Get(cfg.Cluster.Spec(dataset, l.objects, scale, cfg.Seed), l.note)
	if err != nil {
		return Value{}, err
	}
	l.note(fmt.Sprintf("simulating %s, %s, %s, %s", at.experiment, at.panel, at.series, clients(at.clients)))
	cfg.Scheme, cfg.Clients = at.series, at.clients
	cfg.Mix = [2]int{p.Mix[bench.Search], p.Mix[bench.Insert]}
	if at.series == tcp40.Name {
		cfg.Scheme, cfg.TCPGbits = tcp.Name, fasterEthernet
	}
	if n := cfg.Cluster.Client.Figure7; n > 0 && at.experiment == "events" {
		cl := *cfg.Cluster
		cl.Client.Machines, cfg.Cluster = n, &cl
	}
	// Ten heartbeats let the back-off settle.
	cfg.Warmup = time.Duration(10 * cfg.Cluster.Heartbeat.IntervalNs)
	r, err := sim.Run(l.ctx, cfg, w)
	if err != nil {
		return Value{}, err
	}
	return Value{
		Kops: r.OpsPerS / 1e3, MeanUs: r.ByOp["search"].MeanUs,
		CPU: r.CPUUtil, Net: r.LinkOut, Offload: r.Offload,
	}, nil
}
