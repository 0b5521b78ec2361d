package client

import (
	"context"
	"math"

	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/rstar/remote"
	"github.com/catfish-index/catfish/store/query"
)

// The nearest by offloading, in the two passes of store/nearest.go:
//
//	walk     the entries nearest in the tree's order     1 or more round trips
//	records  of those                                     1
//	walk     the circle as far as the farthest of them   1, with cached nodes
//	records  of what is new, and not too far             1 or none

const (
	// passes is how often four times as many are looked at, if a filter leaves too few.
	passes = 3
	// someMore entries are looked at for each requested feature, if there is a filter.
	someMore = 4
)

func (g *findQuery) offloadNear(ctx context.Context, c *Client, s *session) (st offload.Stats, ok bool, err error) {
	began := wire.Monotonic()
	n := g.preparedNear.Collect()
	offer := n.Offer
	// read reads the records of the wanted entries.
	read := func(items []rstar.Item) (bool, error) {
		wanted := items[:0]
		for _, it := range items {
			if n.Wants(it) {
				wanted = append(wanted, it)
			}
		}
		if len(wanted) == 0 || len(wanted) > searchCandidates {
			return len(wanted) == 0, nil
		}
		more, ok, err := g.readAll(ctx, c, s, wanted, began, func(f *query.Found, ref record.Ref) error { return offer(f, ref) })
		st.Add(more)
		return ok, err
	}
	all, ok, err := g.nearestEntries(ctx, c, s, n, &st, read)
	if err == nil && ok && !all {
		if ok = !math.IsInf(n.Reach(), 1); ok {
			ok, err = g.circle(ctx, c, s, n, &st, read)
		}
	}
	if err != nil || !ok {
		return st, false, err
	}
	for f := range n.Result() {
		if fields := g.fields(); !fields.All() {
			f.Cut(nil, fields)
		}
		g.found = append(g.found, *f)
	}
	return st, true, nil
}

// nearestEntries is the first pass. all: the tree has no other entries.
func (g *findQuery) nearestEntries(ctx context.Context, c *Client, s *session, n *query.NearestSoFar, st *offload.Stats,
	read func([]rstar.Item) (bool, error)) (all, ok bool, err error) {
	if g.near.K == 0 {
		return false, true, nil // The circle is known.
	}
	want := g.near.K
	if g.near.Filter != "" {
		want *= someMore
	}
	for pass := 0; pass < passes && want <= searchCandidates; pass++ {
		var near []remote.Neighbor
		err := g.walk(ctx, c, s, st, func(r *remote.Reader, ended func()) (err error) {
			defer ended()
			near, err = r.Nearest(ctx, &g.open.slab, g.near.X, g.near.Y, want, nil)
			return err
		})
		if err != nil {
			ok, err := g.cannot(ctx, s, err)
			return false, ok, err
		}
		items := make([]rstar.Item, len(near))
		for i := range near {
			items[i] = near[i].Item
		}
		if ok, err := read(items); !ok || err != nil {
			return false, false, err
		}
		if n.Full() || len(near) < want {
			return len(near) < want, true, nil
		}
		want *= someMore
	}
	return false, false, nil
}

// circle is the second pass.
func (g *findQuery) circle(ctx context.Context, c *Client, s *session, n *query.NearestSoFar, st *offload.Stats,
	read func([]rstar.Item) (bool, error)) (ok bool, err error) {
	boxes, err := n.Circle(n.Reach())
	if err != nil {
		return false, err
	}
	var items []rstar.Item
	err = g.walk(ctx, c, s, st, func(r *remote.Reader, ended func()) (err error) {
		defer ended()
		items, err = r.SearchAny(ctx, &g.open.slab, boxes, 4*searchCandidates, nil)
		return err
	})
	if err != nil {
		return g.cannot(ctx, s, err)
	}
	if len(items) >= 4*searchCandidates {
		return false, nil
	}
	return read(items)
}
