package kv

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// load is one client process's goroutines.
type load struct {
	job     ClientJob
	stores  []Store
	workers []*worker
	next    []func(context.Context) error // of each worker
	phase   atomic.Int32
}

func newLoad(job ClientJob, stores []Store) (*load, error) {
	l := &load{job: job, stores: stores}
	for i, s := range stores {
		_, pipelined := s.(Pipeliner)
		goroutines, together := job.InFlight, job.Batch
		if pipelined = pipelined && job.InFlight > 1; pipelined {
			if job.Batch > 1 {
				return nil, fmt.Errorf("%w: batch is %d and in-flight %d: %s has one batch in flight for each client",
					harness.ErrConfig, job.Batch, job.InFlight, job.Scheme)
			}
			goroutines, together = 1, job.InFlight
		}
		for j := range goroutines {
			w, err := newWorker(job.Workload, (job.FirstClient+i)*goroutines+j, together, s, &l.phase)
			if err != nil {
				return nil, err
			}
			w.checker.cache = job.Cache
			next := w.one
			if pipelined {
				next = w.pipeline
				w.checker.ascending = w.checker.ascending && inOrder(job.Workload.Mix)
			}
			l.workers, l.next = append(l.workers, w), append(l.next, next)
		}
	}
	return l, nil
}

// moment has a process's counters and processor time at one time.
type moment struct {
	at       time.Time
	counters Counters
	cpu      time.Duration
}

func (l *load) now(began time.Time) (m moment, err error) {
	u, err := harness.UsageSince(began)
	for _, s := range l.stores {
		m.counters = m.counters.Add(s.Counters())
	}
	m.at, m.cpu = time.Now(), u.CPU
	return m, err
}

// run works for the warm-up and the measured time. The process began at began.
func (l *load) run(ctx context.Context, began time.Time) (*Sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for i, w := range l.workers {
		group.Go(func() {
			if err := w.run(ctx, l.next[i]); err != nil {
				cancel(err) // The first error is the cause.
			}
		})
	}
	first, last, err := l.measure(ctx, began)
	if err != nil {
		cancel(err)
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s := &Sample{
		Elapsed: last.at.Sub(first.at), Latency: latencies(l.job.Workload.Mix),
		Counters: last.counters.Sub(first.counters), CPU: last.cpu - first.cpu,
	}
	for _, w := range l.workers {
		for k, lat := range w.latency {
			if lat != nil {
				s.Latency[k].Merge(lat)
			}
		}
		s.Answers = s.Answers.Add(w.checker.Answers)
	}
	return s, nil
}

// measure sets the phases, and reads the counters at both ends of the measured
// time, whose real length counts, since a busy machine wakes goroutines late.
func (l *load) measure(ctx context.Context, began time.Time) (first, last moment, err error) {
	defer l.phase.Store(over)
	if err = harness.Sleep(ctx, l.job.Warmup); err != nil {
		return first, last, err
	}
	if first, err = l.now(began); err != nil {
		return first, last, err
	}
	l.phase.Store(measuring)
	if err = harness.Sleep(ctx, time.Until(first.at.Add(l.job.Duration))); err != nil {
		return first, last, err
	}
	last, err = l.now(began)
	return first, last, err
}
