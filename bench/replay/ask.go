package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/rstar"
)

// answer is the answer to one request.
type answer struct {
	count uint64 // objects; 1 for a change
	sum   uint64 // of sumOf, when asked for
	ids   []uint64
}

// asking is one process's part of a replay.
type asking struct {
	job     Job
	conns   []Conn
	list    []querylog.Record
	answers []answer // like list; each is written by the asking goroutine
	next    atomic.Int64
	done    atomic.Int64
}

// asker is one goroutine. Its latencies are by kind of request.
type asker struct {
	*asking
	conn    Conn
	latency [querylog.Update + 1]*latency.Distribution
	buf     []rstar.Item
}

// run makes all requests once. After an error it begins no more.
func (a *asking) run(ctx context.Context) ([]*asker, time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	askers := make([]*asker, len(a.conns)*a.job.InFlight)
	start := time.Now()
	for i := range askers {
		w := &asker{asking: a, conn: a.conns[i%len(a.conns)]}
		askers[i] = w
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(a.next.Add(1)) - 1
				if i >= len(a.list) {
					return
				}
				if err := w.ask(ctx, i); err != nil {
					cancel(fmt.Errorf("replay: request %d, %v: %w",
						a.job.Proc+i*a.job.Procs, a.list[i].Kind, err))
					return
				}
				a.done.Add(1)
			}
		})
	}
	wg.Wait()
	return askers, time.Since(start), context.Cause(ctx)
}

// ask executes one request and keeps its answer.
func (w *asker) ask(ctx context.Context, i int) (err error) {
	rec, ans := &w.list[i], &w.answers[i]
	items := w.buf[:0]
	changed := true
	start := time.Now()
	switch rec.Kind {
	case querylog.Search:
		items, err = w.conn.SearchLimit(ctx, items, rec.Rect, int(rec.Limit))
	case querylog.Count:
		var n int
		n, err = w.conn.Count(ctx, rec.Rect)
		ans.count = uint64(n)
	case querylog.Nearest:
		items, err = w.nearest(ctx, items, rec)
	case querylog.Insert:
		err = w.conn.Insert(ctx, rec.Rect, rec.ID)
	case querylog.Delete:
		changed, err = w.conn.Delete(ctx, rec.Rect, rec.ID)
	case querylog.Update:
		changed, err = w.conn.Update(ctx, rec.Rect, rec.To, rec.ID)
	default:
		err = fmt.Errorf("%w: %v is no request", querylog.ErrDamaged, rec.Kind)
	}
	took := time.Since(start)
	if err != nil {
		return err
	}
	w.buf = items
	lat := &w.latency[rec.Kind]
	if *lat == nil {
		*lat = latency.New()
	}
	(*lat).Record(took)
	switch {
	case rec.Kind.Writes():
		if changed {
			ans.count = 1
		}
	case rec.Kind != querylog.Count:
		ans.count = uint64(len(items))
		w.keep(ans, rec, items)
	}
	return nil
}

// nearest searches for the k nearest, or for those within a distance, which
// the library lacks: it searches the square around the point and drops objects
// that are too far away.
func (w *asker) nearest(ctx context.Context, dst []rstar.Item, rec *querylog.Record) ([]rstar.Item, error) {
	if math.IsInf(rec.Within, 1) {
		return w.conn.NearestAppend(ctx, dst, rec.X, rec.Y, int(rec.Limit))
	}
	items, err := w.conn.SearchLimit(ctx, dst, around(rec.X, rec.Y, rec.Within), 0)
	if err != nil {
		return items, err
	}
	items = slices.DeleteFunc(items, func(it rstar.Item) bool {
		return it.Rect.Distance(rec.X, rec.Y) > rec.Within
	})
	if rec.Limit > 0 && len(items) > int(rec.Limit) {
		slices.SortFunc(items, nearer(rec.X, rec.Y))
		items = items[:rec.Limit]
	}
	return items, nil
}

// nearer orders by distance, equal ones by id.
func nearer(x, y float64) func(a, b rstar.Item) int {
	return func(a, b rstar.Item) int {
		da, db := a.Rect.Distance(x, y), b.Rect.Distance(x, y)
		switch {
		case da < db:
			return -1
		case da > db:
			return 1
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	}
}

// keep keeps the requested parts of the objects found.
func (w *asker) keep(ans *answer, rec *querylog.Record, items []rstar.Item) {
	if w.job.Sums {
		ans.sum = sumOf(rec, items)
	}
	// Which objects a limit lets through is the server's choice: the oracle
	// can only check that they are among the matches.
	if w.job.IDs || w.job.Sums && limited(rec) {
		ans.ids = make([]uint64, len(items))
		for i, it := range items {
			ans.ids[i] = it.ID
		}
	}
}

func limited(rec *querylog.Record) bool {
	return rec.Kind == querylog.Search && rec.Limit > 0
}

// sumOf is equal for equal answers, in whatever order: for a nearest the
// distances count, because objects at the same distance as the last may
// replace it.
func sumOf(rec *querylog.Record, items []rstar.Item) uint64 {
	var sum uint64
	for _, it := range items {
		if rec.Kind == querylog.Nearest {
			d := it.Rect.Distance(rec.X, rec.Y)
			sum += bench.Digest(0, rstar.Item{ID: math.Float64bits(d)})
		} else {
			sum += bench.Digest(0, it)
		}
	}
	return sum
}
