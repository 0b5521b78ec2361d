package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Boxes of several groups
//
// A box is in the group that has the range of its centre's position on a Hilbert curve, and in
// no other. A search asks the groups of which a range may have a box that meets the area: no
// box is larger than its range's bounds say.
//
//	insert, delete         the group of the centre
//	update                 the same; or put into the new group, then deleted from the old one
//	search, count          the groups that may have a box there, at the same time
//	nearest                the group of the point; then those that may have nearer boxes than
//	                       the k-th of these
//	many searches          each group gets its own, at the same time
//
// Each group's part is a query of its own by the group's own policy, so that one may be read
// and another asked.

// clusterBoxes is a collection of boxes that several groups have.
type clusterBoxes struct {
	k    *cluster
	name string
}

// severalBoxes is the collection if several groups have it, nil: there is one group.
func (c *Client) severalBoxes() *clusterBoxes {
	if k := c.conn.cluster; k != nil {
		return &clusterBoxes{k, c.collection}
	}
	return nil
}

// at is the part of the collection that a group has.
func (r *clusterBoxes) at(c *connection) *Client { return &Client{conn: c, collection: r.name} }

// byMap is that of the cluster for a collection that has its ranges.
func (r *clusterBoxes) byMap(ctx context.Context, do func(v *view) error) error {
	return r.k.byMap(ctx, func(v *view) error {
		if !v.is.Places(r.name) {
			r.k.ask(ctx, v)
			if v = r.k.view.Load(); !v.is.Places(r.name) {
				return notRouted(fmt.Sprintf("boxes of %q, which are not placed: 'catfish cluster boxes %s' gives each group a part", r.name, r.name))
			}
		}
		return do(v)
	})
}

// run carries out a query.
func (r *clusterBoxes) run(ctx context.Context, q *boxQuery) error {
	return r.byMap(ctx, func(v *view) error {
		q.again()
		switch q.kind {
		case wire.KindSearchMany:
			return r.searchMany(ctx, v, q)
		case wire.KindNearest:
			return r.nearest(ctx, v, q)
		}
		return r.ask(ctx, v, v.meeting(r.name, q.rect), q)
	})
}

// meeting are the groups that may have a box that intersects an area.
func (v *view) meeting(collection string, area rstar.Rect) (groups []int) {
	for _, g := range v.is.Meets(collection, area) {
		groups = append(groups, int(g))
	}
	return groups
}

// ask carries out a query of some groups, and adds their results.
func (r *clusterBoxes) ask(ctx context.Context, v *view, groups []int, q *boxQuery) error {
	if len(groups) == 1 {
		return r.k.askAll(ctx, v, groups, true, func(ctx context.Context, _ int, c *connection) error { return r.at(c).run(ctx, q) })
	}
	parts := make([]*boxQuery, len(groups))
	for n := range parts {
		parts[n] = queries.Get().(*boxQuery)
		defer parts[n].release()
		p := parts[n]
		p.kind, p.rect, p.limit, p.x, p.y, p.within = q.kind, q.rect, q.limit, q.x, q.y, q.within
	}
	if err := r.askParts(ctx, v, groups, parts); err != nil {
		return err
	}
	for _, p := range parts {
		q.items, q.neighbors, q.objects = append(q.items, p.items...), append(q.neighbors, p.neighbors...), q.objects+p.objects
	}
	if most := q.base + q.limit; q.kind == wire.KindSearch && q.limit > 0 && len(q.items) > most {
		q.items = q.items[:most]
	}
	return nil
}

// askParts carries out a query of each of some groups.
func (r *clusterBoxes) askParts(ctx context.Context, v *view, groups []int, parts []*boxQuery) error {
	return r.k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) error { return r.at(c).run(ctx, parts[n]) })
}

// nearest asks the group of the point, and then those that may have something as near as the
// farthest of what that one has found.
func (r *clusterBoxes) nearest(ctx context.Context, v *view, q *boxQuery) error {
	first, _, err := v.is.OfBox(r.name, rstar.Rect{MinX: q.x, MinY: q.y, MaxX: q.x, MaxY: q.y})
	if err != nil {
		return err
	}
	if err := r.ask(ctx, v, []int{int(first)}, q); err != nil {
		return err
	}
	within := q.within
	if len(q.neighbors) == q.limit {
		within = min(within, q.neighbors[q.limit-1].Dist)
	}
	others := slices.DeleteFunc(v.meeting(r.name, placement.Around(q.x, q.y, within)), func(g int) bool { return g == int(first) })
	if len(others) == 0 {
		return nil
	}
	more := queries.Get().(*boxQuery)
	defer more.release()
	more.kind, more.x, more.y, more.limit, more.within = q.kind, q.x, q.y, q.limit, within
	if err := r.ask(ctx, v, others, more); err != nil {
		return err
	}
	q.neighbors = append(q.neighbors, more.neighbors...)
	slices.SortFunc(q.neighbors, model.Neighbor.Compare)
	q.neighbors = q.neighbors[:min(len(q.neighbors), q.limit)]
	return nil
}

// searchMany makes the first of many searches: those that all groups have answered.
func (r *clusterBoxes) searchMany(ctx context.Context, v *view, q *boxQuery) error {
	at := make([][]int, len(v.names)) // the numbers of the searches of each group
	for i := range q.rects {
		for _, g := range v.is.Meets(r.name, q.rects[i]) {
			at[g] = append(at[g], i)
		}
	}
	var groups []int
	var parts []*boxQuery
	for g := range at {
		if len(at[g]) == 0 {
			continue
		}
		p := queries.Get().(*boxQuery)
		defer p.release()
		p.kind, p.counts = q.kind, p.counts[:0]
		for _, i := range at[g] {
			p.rects = append(p.rects, q.rects[i])
		}
		groups, parts = append(groups, g), append(parts, p)
	}
	if err := r.askParts(ctx, v, groups, parts); err != nil {
		return err
	}
	answered := len(q.rects)
	for n, g := range groups {
		if of := at[g]; len(parts[n].counts) < len(of) {
			answered = min(answered, of[len(parts[n].counts)])
		}
	}
	q.counts = slices.Grow(q.counts, answered)
	for i := range answered {
		before := len(q.items)
		for n, g := range groups {
			if of := at[g]; len(of) > 0 && of[0] == i {
				p := parts[n]
				q.items = append(q.items, p.items[:p.counts[0]]...)
				at[g], p.items, p.counts = of[1:], p.items[p.counts[0]:], p.counts[1:]
			}
		}
		q.counts = append(q.counts, uint32(len(q.items)-before))
	}
	return nil
}

// explain is Client.Explain of the groups that may have an answer.
func (r *clusterBoxes) explain(ctx context.Context, area rstar.Rect, limit int) ([]rstar.Item, *model.Explanation, error) {
	x, done := r.k.c.explain(r.k.c.engines[ofBoxes].Policy())
	x.Why = "the groups that may have boxes in the area are asked, each by its own policy"
	var found [][]rstar.Item
	var of []*model.Explanation
	var names []string
	err := r.byMap(ctx, func(v *view) error {
		groups := v.meeting(r.name, area)
		found, of, names = make([][]rstar.Item, len(groups)), make([]*model.Explanation, len(groups)), nil
		for _, g := range groups {
			names = append(names, v.names[g])
		}
		return r.k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) (err error) {
			found[n], of[n], err = r.at(c).Explain(ctx, area, limit)
			return err
		})
	})
	if err != nil {
		return nil, &x.Explanation, err
	}
	for n := range of {
		x.ofGroup(names[n], of[n])
	}
	items := slices.Concat(found...)
	if limit > 0 && len(items) > limit {
		items = items[:limit]
	}
	x.Results = len(items)
	done()
	return items, &x.Explanation, nil
}

// create adds the collection to all groups.
func (r *clusterBoxes) create(ctx context.Context, keep bool) error {
	if err := r.byMap(ctx, func(*view) error { return nil }); err != nil {
		return err
	}
	return r.k.everywhere(ctx, func(c *Client) error { return c.createBoxes(ctx, r.name, keep) })
}
