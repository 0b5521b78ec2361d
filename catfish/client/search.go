package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// boxQuery is a search, count or nearest, by either path. Pooled.
type boxQuery struct {
	read
	kind   fastmsg.Kind
	rect   rstar.Rect   // search, count
	x, y   float64      // nearest
	within float64      // nearest
	limit  int          // search: 0 = all; nearest: k
	rects  []rstar.Rect // searchMany

	base      int          // number of items that the caller brought
	items     []rstar.Item // search: the caller's slice
	counts    []uint32     // searchMany: number of items, for searches that are answered
	neighbors []model.Neighbor
	objects   int // count

	estimator remote.Estimator
}

var queries = sync.Pool{New: func() any { return new(boxQuery) }}

func (q *boxQuery) release() {
	q.read.release()
	q.items, q.base, q.neighbors, q.rects = nil, 0, nil, nil
	queries.Put(q)
}

// Search returns every object that intersects r, borders included, in no
// particular order.
func (c *Client) Search(ctx context.Context, r rstar.Rect) ([]rstar.Item, error) {
	return c.SearchAppend(ctx, nil, r, 0)
}

// SearchAppend appends up to limit objects that intersect r to dst; a
// limit of 0 or less means all. After an error dst is returned as it was.
func (c *Client) SearchAppend(ctx context.Context, dst []rstar.Item, r rstar.Rect, limit int) ([]rstar.Item, error) {
	if err := r.Validate(); err != nil {
		return dst, err
	}
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit, q.items, q.base = wire.KindSearch, r, max(limit, 0), dst, len(dst)
	if err := c.runBoxes(ctx, q); err != nil {
		return dst, err
	}
	return q.items, nil
}

// Count returns how many objects intersect r.
func (c *Client) Count(ctx context.Context, r rstar.Rect) (int, error) {
	if err := r.Validate(); err != nil {
		return 0, err
	}
	q := queries.Get().(*boxQuery)
	defer q.release()
	q.kind, q.rect, q.limit = wire.KindCount, r, 0
	if err := c.runBoxes(ctx, q); err != nil {
		return 0, err
	}
	return q.objects, nil
}

// runBoxes carries out a query, of several groups if these have the boxes.
func (c *Client) runBoxes(ctx context.Context, q *boxQuery) error {
	if r := c.severalBoxes(); r != nil {
		return r.run(ctx, q)
	}
	return c.run(ctx, q)
}

func (q *boxQuery) again() {
	q.items, q.counts, q.neighbors, q.objects = q.items[:q.base], q.counts[:0], nil, 0
}

func (q *boxQuery) once(ctx context.Context, c *Client, s *session) error {
	if err := q.openAs(ctx, c, s, ofBoxes, q.kind); err != nil {
		return err
	}
	return c.byPath(ctx, s, q)
}

// size of a search that has ended.
func (q *boxQuery) size() (searches, results int) {
	switch q.kind {
	case wire.KindSearchMany:
		return len(q.counts), len(q.items) - q.base
	case wire.KindCount:
		return 1, 1
	case wire.KindNearest:
		return 1, len(q.neighbors)
	}
	return 1, len(q.items) - q.base
}

// message carries out a query by fast messaging.
func (q *boxQuery) message(ctx context.Context, c *Client, s *session) (asked int, err error) {
	if q.kind == wire.KindSearchMany {
		err = q.messageMany(ctx, c, s)
		return len(q.counts), err
	}
	return 1, q.messageOne(ctx, c, s)
}

func (q *boxQuery) messageOne(ctx context.Context, c *Client, s *session) (err error) {
	q.req = wire.AppendHead(q.req[:0], q.open.coll, uint32(min(q.limit, math.MaxUint32)))
	kind := q.kind
	if kind == wire.KindNearest {
		kind = q.appendNearest(s)
	} else {
		q.req = wire.AppendRect(q.req, q.rect)
	}
	if err := q.ask(ctx, c, s, kind); err != nil {
		return err
	}
	if n := len(q.ans) / wire.ItemBytes; q.kind != wire.KindCount && q.limit > 0 && n > q.limit {
		return fmt.Errorf("%w: %d items answered, want at most %d", model.ErrProtocol, n, q.limit)
	}
	switch q.kind {
	case wire.KindCount:
		if len(q.ans) != 8 {
			return fmt.Errorf("%w: count answered %d bytes, want 8", model.ErrProtocol, len(q.ans))
		}
		n := binary.LittleEndian.Uint64(q.ans)
		if n > math.MaxInt {
			return fmt.Errorf("%w: count answered %d", model.ErrProtocol, n)
		}
		q.objects = int(n)
	case wire.KindNearest:
		if len(q.ans)%wire.ItemBytes != 0 {
			return fmt.Errorf("%w: %d bytes of items, want a multiple of %d", model.ErrProtocol, len(q.ans), wire.ItemBytes)
		}
		for b := q.ans; len(b) > 0; b = b[wire.ItemBytes:] {
			it := wire.GetItem(b)
			if d := it.Rect.Distance(q.x, q.y); d <= q.within {
				q.neighbors = append(q.neighbors, model.Neighbor{Item: it, Dist: d})
			}
		}
		slices.SortFunc(q.neighbors, model.Neighbor.Compare)
	default:
		q.items = slices.Grow(q.items, len(q.ans)/wire.ItemBytes)
		q.items, err = wire.AppendItems(q.items, q.ans)
	}
	return err
}

// offload carries out a query by reading the tree.
func (q *boxQuery) offload(ctx context.Context, c *Client, s *session) (left int, err error) {
	u, err := s.channels.get(ctx)
	if err != nil {
		return 1, err
	}
	defer s.channels.put(u)
	r := u.(*remote.Reader)
	q.explain.step("get a read channel")
	if q.explain != nil {
		r.OnWalk = q.explain.walked
		defer func() { r.OnWalk = nil }()
	}
	switch q.kind {
	case wire.KindNearest:
		q.neighbors, err = r.NearestWithin(ctx, &q.open.slab, q.x, q.y, q.limit, q.within, q.neighbors)
	case wire.KindCount:
		q.objects, err = r.Count(ctx, &q.open.slab, q.rect)
	case wire.KindSearchMany:
		q.items, q.counts, err = r.SearchMany(ctx, &q.open.slab, q.rects, q.items, q.counts[:0])
	default:
		q.items, err = r.Search(ctx, &q.open.slab, q.rect, q.limit, q.items)
	}
	st := r.Stats()
	q.count(c, &st)
	if err != nil {
		q.again()
		return 1, walkError(err)
	}
	return 0, nil
}

// walkError adds this package's error to an error of package remote that
// means the same.
func walkError(err error) error {
	switch {
	case errors.Is(err, remote.ErrProtocol):
		return fmt.Errorf("%w: %w", model.ErrProtocol, err)
	case errors.Is(err, remote.ErrTooLarge):
		return fmt.Errorf("%w: %w", model.ErrTooLarge, err)
	}
	return err
}
