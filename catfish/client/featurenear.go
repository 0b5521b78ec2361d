package client

import (
	"context"
	"math"
	"time"

	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// The nearest by offloading, in the two passes of internal/store/nearest.go:
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

func (g *findQuery) offloadNear(ctx context.Context, c *Client, s *session, began time.Duration) error {
	n := g.preparedNear.Collect()
	// read reads the records of the wanted entries.
	read := func(items []rstar.Item) error {
		wanted := items[:0]
		for _, it := range items {
			if n.Wants(it) {
				wanted = append(wanted, it)
			}
		}
		switch {
		case len(wanted) == 0:
			return nil
		case len(wanted) > searchCandidates:
			return errAsk
		}
		return g.readAll(ctx, c, s, wanted, began, n.Offer)
	}
	all, err := g.nearestEntries(ctx, c, s, n, read)
	if err == nil && !all {
		err = g.circle(ctx, c, s, n, read)
	}
	if err != nil {
		return err
	}
	for f := range n.Result() {
		if fields := g.fields(); !fields.All() {
			f.Cut(nil, fields)
		}
		g.found = append(g.found, *f)
	}
	return nil
}

// nearestEntries is the first pass. all: the tree has no other entries.
func (g *findQuery) nearestEntries(ctx context.Context, c *Client, s *session, n *query.NearestSoFar, read func([]rstar.Item) error) (all bool, err error) {
	if g.near.K == 0 {
		return false, nil // The circle is known.
	}
	want := g.near.K
	if g.near.Filter != "" {
		want *= someMore
	}
	for pass := 0; pass < passes && want <= searchCandidates; pass++ {
		items, err := g.walk(ctx, c, s, func(r *remote.Reader) ([]rstar.Item, error) {
			near, err := r.Nearest(ctx, &g.open.slab, g.near.X, g.near.Y, want, nil)
			items := make([]rstar.Item, len(near))
			for i := range near {
				items[i] = near[i].Item
			}
			return items, err
		})
		if err != nil {
			return false, err
		}
		all := len(items) < want
		if err := read(items); err != nil {
			return false, err
		}
		if n.Full() || all {
			return all, nil
		}
		want *= someMore
	}
	return false, errAsk
}

// circle is the second pass.
func (g *findQuery) circle(ctx context.Context, c *Client, s *session, n *query.NearestSoFar, read func([]rstar.Item) error) error {
	if math.IsInf(n.Reach(), 1) {
		return errAsk
	}
	boxes, err := n.Circle(n.Reach())
	if err != nil {
		return err
	}
	items, err := g.walk(ctx, c, s, func(r *remote.Reader) ([]rstar.Item, error) {
		return r.SearchAny(ctx, &g.open.slab, boxes, 4*searchCandidates, nil)
	})
	if err != nil {
		return err
	}
	if len(items) >= 4*searchCandidates {
		return errAsk
	}
	return read(items)
}
