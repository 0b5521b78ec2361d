package remote

import (
	"context"
	"math"
	"slices"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// Searches for several rectangles in one walk. rstar/any.go argues why separate
// searches would not do.

// SearchAny is Search for several rectangles: it finds each object that intersects
// at least one of them, once, also one that is moved from one to another meanwhile.
func (r *Reader) SearchAny(ctx context.Context, t *Tree, qs []rstar.Rect, limit int, dst []rstar.Item) ([]rstar.Item, error) {
	if len(qs) == 1 {
		return r.Search(ctx, t, qs[0], limit, dst)
	}
	r.stats = offload.Stats{}
	w := &r.one
	w.boxes = slices.DeleteFunc(slices.Clone(qs), func(q rstar.Rect) bool {
		return math.IsNaN(q.MinX) || math.IsNaN(q.MinY) || math.IsNaN(q.MaxX) || math.IsNaN(q.MaxY) // finds nothing
	})
	if len(w.boxes) == 0 {
		return dst, nil
	}
	w.q, w.limit, w.count = w.boxes[0], limit, false
	for _, q := range w.boxes[1:] {
		w.q = w.q.Union(q)
	}
	w.items, w.base = dst, len(dst)
	err := r.repeat(ctx, t, w, 0)
	if err == nil {
		dst = w.items
	}
	w.items, w.boxes = nil, nil
	return dst, err
}

// appendHits appends the indexes of n's entries that are to be followed, in order.
func (s *searchWalk) appendHits(dst []int32, n rstar.Node) []int32 {
	if s.boxes == nil {
		return n.AppendHits(dst, s.q)
	}
	first := len(dst)
	for _, q := range s.boxes {
		dst = n.AppendHits(dst, q)
	}
	slices.Sort(dst[first:])
	return append(dst[:first], slices.Compact(dst[first:])...)
}

// onlyBoxes removes from items, from mark on, those that meet no box.
func (s *searchWalk) onlyBoxes(items []rstar.Item, mark int) []rstar.Item {
	n := mark
	for i := mark; i < len(items); i++ {
		if slices.ContainsFunc(s.boxes, items[i].Rect.Intersects) {
			items[n] = items[i]
			n++
		}
	}
	return items[:n]
}
