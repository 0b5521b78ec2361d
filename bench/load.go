package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/rstar"
)

// ErrResults is wrapped when searches return wrong results: another answer to
// the same query although nothing was written.
var ErrResults = errors.New("bench: results differ")

// load is one client process's closed loop: goroutine i works on
// connection i mod clients. Samples are taken while it runs.
type load struct {
	job   ClientJob
	conns []Conn
	works []*work

	pause atomic.Int64 // ns between two calls of a goroutine

	// As of the last sample, the counters by connection.
	lastTime     time.Time
	lastCPU      time.Duration
	lastCounters []Counters
}

// work is one goroutine's plan and what it measured. The mutex is taken
// once per call and contended only when a sample is taken.
type work struct {
	conn Conn
	plan *plan
	mu   sync.Mutex
	seen tally
	buf  []rstar.Item

	many  Batcher      // conn, if one call makes several searches
	rects []rstar.Rect // of one call
}

type tally struct {
	latency [numOps]*latency.Distribution
	results uint64
}

func newTally() tally {
	var t tally
	for op := range t.latency {
		t.latency[op] = latency.New()
	}
	return t
}

// newLoad draws the plans and stocks the tree where the mix asks for it.
func newLoad(ctx context.Context, job ClientJob, conns []Conn) (*load, error) {
	plans, err := newPlans(job)
	if err != nil {
		return nil, err
	}
	l := &load{job: job, conns: conns, lastCounters: make([]Counters, len(conns))}
	for i, p := range plans {
		w := &work{conn: conns[i%len(conns)], plan: p, seen: newTally()}
		if job.Batch > 1 {
			var ok bool
			if w.many, ok = w.conn.(Batcher); !ok {
				return nil, fmt.Errorf("%w: batch is %d, but %s makes searches one by one only", harness.ErrConfig, job.Batch, job.Policy)
			}
			w.rects = make([]rstar.Rect, job.Batch)
		}
		if job.Mix.needsStock() {
			for range stockObjects {
				if err := w.insert(ctx); err != nil {
					return nil, fmt.Errorf("bench: stocking: %w", err)
				}
			}
		}
		l.works = append(l.works, w)
	}
	return l, nil
}

// run works until each connection has made calls calls (0: for ever), the time
// most has passed (0: never), ctx is done or a call fails, and returns that
// call's error. After most, in-flight calls are completed.
func (l *load) run(ctx context.Context, calls int, most time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var over atomic.Bool
	if most > 0 {
		defer time.AfterFunc(most, func() { over.Store(true) }).Stop()
	}
	var wg sync.WaitGroup
	for i, w := range l.works {
		share := l.share(i, calls)
		wg.Go(func() {
			for n := 0; ctx.Err() == nil && !over.Load() && (calls == 0 || n < share); n++ {
				if err := w.one(ctx); err != nil {
					if ctx.Err() == nil {
						cancel(err)
					}
					return
				}
				if d := time.Duration(l.pause.Load()); d > 0 {
					_ = harness.Sleep(ctx, d)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
		return err
	}
	return nil
}

// share is how many of a connection's calls goroutine i makes.
func (l *load) share(i, calls int) int {
	return calls/l.job.InFlight + btoi(i/len(l.conns) < calls%l.job.InFlight)
}

// take returns what happened since its last call. One goroutine calls it.
func (l *load) take() *Sample {
	now := time.Now()
	s := &Sample{
		Pause: time.Duration(l.pause.Load()), Elapsed: now.Sub(l.lastTime),
	}
	all := newTally()
	if l.job.Each {
		s.Each = make([]ClientSample, len(l.conns))
		for i := range s.Each {
			s.Each[i].Latency = latency.New()
		}
	}
	for i, w := range l.works {
		w.mu.Lock()
		if l.job.Each {
			s.Each[i%len(l.conns)].Latency.Merge(w.seen.latency[Search])
		}
		for op, lat := range w.seen.latency {
			if lat.Count() > 0 {
				all.latency[op].Merge(lat)
				lat.Reset()
			}
		}
		s.Results += w.seen.results
		w.seen.results = 0
		w.mu.Unlock()
	}
	s.Latency = all.latency
	for i, c := range l.conns {
		total := c.Counters()
		did := total.Sub(l.lastCounters[i])
		l.lastCounters[i] = total
		if l.job.Each {
			s.Each[i].Counters = did
		}
		s.Counters = s.Counters.Add(did)
		s.Offloads += btoi(did.Offloaded > 0)
		s.Gauges = append(s.Gauges, c.Gauges())
	}
	l.lastTime = now
	cpu := harness.CPUTime()
	s.CPU, l.lastCPU = cpu-l.lastCPU, cpu
	return s
}

// one makes one call and records it.
func (w *work) one(ctx context.Context) error {
	p := w.plan
	op := p.op()
	var (
		err     error
		results int
		start   time.Time
		took    time.Duration
		made    = 1
	)
	switch op {
	case Search:
		if w.many != nil {
			made = len(w.rects)
			results, took, err = w.searchMany(ctx)
			break
		}
		q, i := p.query()
		start = time.Now()
		w.buf, err = w.conn.SearchAppend(ctx, w.buf[:0], q)
		took = time.Since(start)
		results = len(w.buf)
		if err == nil && p.results != nil {
			err = p.same(i, results)
		}
	case Nearest:
		q, _ := p.query()
		start = time.Now()
		_, err = w.conn.Nearest(ctx, q.MinX, q.MinY, nearestK)
		took = time.Since(start)
	case Insert:
		start = time.Now()
		err = w.insert(ctx)
		took = time.Since(start)
	case Delete:
		it := p.oldest()
		var found bool
		start = time.Now()
		found, err = w.conn.Delete(ctx, it.Rect, it.ID)
		took = time.Since(start)
		err = mustFind(op, it, found, err)
	case Update:
		it := p.oldest()
		to := rstar.Item{Rect: p.rect(), ID: it.ID}
		var found bool
		start = time.Now()
		found, err = w.conn.Update(ctx, it.Rect, to.Rect, it.ID)
		took = time.Since(start)
		err = mustFind(op, it, found, err)
		p.keep(to)
	}
	if err != nil {
		return fmt.Errorf("bench: %s: %w", op, err)
	}
	w.mu.Lock()
	w.seen.latency[op].RecordMany(took, made)
	w.seen.results += uint64(results)
	w.mu.Unlock()
	return nil
}

func (w *work) insert(ctx context.Context) error {
	it := w.plan.newItem()
	if err := w.conn.Insert(ctx, it.Rect, it.ID); err != nil {
		return err
	}
	w.plan.keep(it)
	return nil
}

// same checks that the answer to a query has not changed.
func (p *plan) same(i, results int) error {
	if p.results[i] < 0 {
		p.results[i] = int32(results)
	}
	if int(p.results[i]) != results {
		return fmt.Errorf("%w: %v found %d objects, then %d", ErrResults,
			p.queries[i], p.results[i], results)
	}
	return nil
}

// mustFind turns "not found" of the goroutine's own object into an error.
func mustFind(op Op, it rstar.Item, found bool, err error) error {
	if err == nil && !found {
		return fmt.Errorf("%w: %s of object %d at %v did not find it",
			ErrResults, op, it.ID, it.Rect)
	}
	return err
}
