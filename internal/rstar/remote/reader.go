package remote

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// MaxRestarts is the number of times that a search begins again before it fails with
// offload.ErrRestart. The caller then asks the server, where a worker can take the
// tree's lock. With a move every 100 us and searches of 20 us, one restart in five is
// followed by another.
const MaxRestarts = 4

// Limits bound what a Reader returns; 0 is no limit.
type Limits struct {
	Items int // of one search; with more it fails with ErrTooLarge
	Batch int // of SearchMany: with more no further search is begun
}

func (l Limits) enough(items int) bool { return l.Batch > 0 && items > l.Batch }

// Reader carries out searches over one read channel, one at a time. It
// reuses its own buffers, never those that it has returned.
type Reader struct {
	// OnWalk, if set, is called after each walk with the time that the client itself
	// spent on nodes. The rest passed with reads in flight.
	OnWalk func(own time.Duration)

	channel *offload.Channel
	regions [1]rdma.Remote // the tree's slab
	limits  Limits
	stats   offload.Stats
	one     searchWalk
	many    manyWalk
	near    nearestWalk
	leaf    []rstar.Item // scratch of Count: the objects of one leaf
}

// NewReader makes a Reader, which owns the channel from now on.
func NewReader(ch *offload.Channel, limits Limits) *Reader {
	return &Reader{channel: ch, limits: limits, one: searchWalk{most: limits.Items}}
}

// StopBy makes searches end with offload.ErrStopped when stop is true; nil: never. It
// may not be called during a search.
func (r *Reader) StopBy(stop *atomic.Bool) { r.channel.StopBy(stop) }

// Err is nil while the Reader's read channel can carry searches.
func (r *Reader) Err() error { return r.channel.Err() }

// Close ends the connection. No search may be in flight.
func (r *Reader) Close() error { return r.channel.Close() }

// Stats is the cost of the last search, whether it failed or not.
func (r *Reader) Stats() offload.Stats { return r.stats }

// Search appends up to limit objects that intersect q to dst, 0: all. After an error
// dst is returned unchanged.
func (r *Reader) Search(ctx context.Context, t *Tree, q rstar.Rect, limit int, dst []rstar.Item) ([]rstar.Item, error) {
	r.stats = offload.Stats{}
	return r.search(ctx, t, q, limit, dst, 0)
}

func (r *Reader) search(ctx context.Context, t *Tree, q rstar.Rect, limit int, dst []rstar.Item, try int) ([]rstar.Item, error) {
	w := &r.one
	w.q, w.boxes, w.limit, w.count = q, nil, limit, false
	w.items, w.base = dst, len(dst)
	if err := r.repeat(ctx, t, w, try); err != nil {
		w.items = nil
		return dst, err
	}
	dst, w.items = w.items, nil
	return dst, nil
}

// Count returns the number of objects that intersect q.
func (r *Reader) Count(ctx context.Context, t *Tree, q rstar.Rect) (int, error) {
	r.stats = offload.Stats{}
	w := &r.one
	w.q, w.boxes, w.limit, w.count = q, nil, 0, true
	w.items, w.base = r.leaf[:0], 0
	err := r.repeat(ctx, t, w, 0)
	r.leaf, w.items = w.items, nil
	if err != nil {
		return 0, err
	}
	return w.found, nil
}

// Nearest appends the k objects nearest to (x, y) to dst, nearest first.
func (r *Reader) Nearest(ctx context.Context, t *Tree, x, y float64, k int, dst []Neighbor) ([]Neighbor, error) {
	return r.NearestWithin(ctx, t, x, y, k, math.Inf(1), dst)
}

// NearestWithin is Nearest without the objects that are farther than within.
func (r *Reader) NearestWithin(ctx context.Context, t *Tree, x, y float64, k int, within float64, dst []Neighbor) ([]Neighbor, error) {
	r.stats = offload.Stats{}
	w := &r.near
	w.x, w.y, w.k, w.within = x, y, k, within
	if err := r.repeat(ctx, t, w, 0); err != nil {
		return dst, err
	}
	dst = append(dst, w.best...)
	slices.SortFunc(dst[len(dst)-len(w.best):], Neighbor.Compare)
	return dst, nil
}

// repeat carries a walk out, from the given try on, until it does not end
// by a restart or has been restarted too often.
func (r *Reader) repeat(ctx context.Context, t *Tree, w interface {
	offload.Traversal
	restart(t *Tree, try int)
	addStats(st *offload.Stats)
}, try int) error {
	for ; ; try++ {
		w.restart(t, try)
		err := r.run(ctx, t, w)
		w.addStats(&r.stats)
		if try == MaxRestarts || !errors.Is(err, offload.ErrRestart) {
			return err
		}
	}
}

func (r *Reader) run(ctx context.Context, t *Tree, w offload.Traversal) error {
	r.regions[0] = t.Base
	if r.OnWalk == nil {
		return r.channel.Run(ctx, r.regions[:], w, &r.stats)
	}
	timed := timed{Traversal: w}
	err := r.channel.Run(ctx, r.regions[:], &timed, &r.stats)
	r.OnWalk(timed.own)
	return err
}

// timed splits the time of a walk into the client's own work and the rest.
type timed struct {
	offload.Traversal
	own time.Duration
}

func (t *timed) Next() (offload.Ref, bool, error) {
	began := time.Now()
	defer func() { t.own += time.Since(began) }()
	return t.Traversal.Next()
}

func (t *timed) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	began := time.Now()
	defer func() { t.own += time.Since(began) }()
	return t.Traversal.Visit(ref, b)
}
