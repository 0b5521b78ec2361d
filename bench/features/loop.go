package features

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/latency"
)

// done is the result of one step of a loop.
type done struct {
	ops      int // that it timed together
	features int // in answers, or written
	wanted   int // that should be in answers
	wrong    string
}

// step runs the next operation, or several that are sent together. It is
// called by one goroutine.
type step func(ctx context.Context, rng *rand.Rand) (done, error)

// steps are the steps of one job, each for a loop of its own.
type steps struct {
	all      []step
	counters func() bench.Counters
	close    func()
}

// Phases of a loop, in order.
const (
	warming int32 = iota
	measuring
	over
)

// loop repeats each step in a goroutine of its own, for the warm-up and the
// measured time.
func loop(ctx context.Context, job LoadJob, s *steps, began time.Time) (*Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Int32
	var measured atomic.Int64 // goroutines that completed a step
	var group sync.WaitGroup
	parts := make([]Sample, len(s.all))
	for i, next := range s.all {
		p := &parts[i]
		p.Latency = latency.New()
		rng := rand.New(rand.NewPCG(job.Seed, uint64(i)))
		group.Go(func() {
			for ctx.Err() == nil && phase.Load() != over {
				start := time.Now()
				d, err := next(ctx, rng)
				if err != nil {
					cancel(fmt.Errorf("bench: %s by %s: %w", job.Work, job.Way, err)) // The first error is the cause.
					return
				}
				if d.wrong != "" {
					if p.Wrong++; p.First == "" {
						p.First = d.wrong
					}
				}
				if phase.Load() == measuring {
					p.Latency.RecordMany(time.Since(start), d.ops)
					p.Ops += int64(d.ops)
					if p.Ops == int64(d.ops) {
						measured.Add(1) // the first of this goroutine
					}
					p.Features += int64(d.features)
					p.Found += int64(d.features)
					p.Wanted += int64(d.wanted)
				}
			}
		})
	}
	out := &Sample{Latency: latency.New()}
	err := measure(ctx, job, &phase, &measured, func() error {
		u, err := harness.UsageSince(began)
		out.Elapsed, out.CPU = u.Wall-out.Elapsed, u.CPU-out.CPU
		if s.counters != nil {
			out.Counters = s.counters().Sub(out.Counters)
		}
		return err
	})
	if err != nil {
		cancel(err)
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for i := range parts {
		p := &parts[i]
		out.Latency.Merge(p.Latency)
		out.Ops, out.Features = out.Ops+p.Ops, out.Features+p.Features
		out.Found, out.Wanted = out.Found+p.Found, out.Wanted+p.Wanted
		if out.Wrong += p.Wrong; out.First == "" {
			out.First = p.First
		}
	}
	return out, nil
}

// measure sets the phases, and calls look to read the counters at both ends of
// the measured time. That is longer if no step has ended in it.
func measure(ctx context.Context, job LoadJob, phase *atomic.Int32, measured *atomic.Int64, look func() error) error {
	defer phase.Store(over)
	if err := harness.Sleep(ctx, job.Warmup); err != nil {
		return err
	}
	if err := look(); err != nil {
		return err
	}
	phase.Store(measuring)
	for {
		if err := harness.Sleep(ctx, job.Duration); err != nil {
			return err
		}
		if measured.Load() > 0 {
			return look()
		}
	}
}
