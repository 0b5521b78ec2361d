package bench

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// Batcher is a Conn that makes many searches in one call (Config.Batch).
type Batcher interface {
	// SearchMany calls each with the objects that intersect each of the
	// rectangles, in their order.
	SearchMany(ctx context.Context, rects []rstar.Rect, each func(i int, items []rstar.Item) error) error
}

// searchMany makes the next searches of the plan in one call. Each of them
// took as long as the call.
func (w *work) searchMany(ctx context.Context) (results int, took time.Duration, err error) {
	p := w.plan
	first := p.nQuery
	for i := range w.rects {
		w.rects[i], _ = p.query()
	}
	start := time.Now()
	err = w.many.SearchMany(ctx, w.rects, func(i int, items []rstar.Item) error {
		results += len(items)
		if p.results == nil {
			return nil
		}
		return p.same((first+i)%len(p.queries), len(items))
	})
	return results, time.Since(start), err
}
