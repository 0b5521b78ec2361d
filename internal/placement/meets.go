package placement

import (
	"cmp"
	"math"
	"slices"

	"github.com/catfish-index/catfish/rstar"
)

// each calls f for the parts of a collection: with the owner of each range of a
// collection of boxes, or with each group that has slots; with the rectangle that bounds
// them, and whether the part may have something in an area.
func (m *Map) each(collection string, area rstar.Rect, f func(g Index, extent *rstar.Rect, meets bool)) {
	if i, err := m.curve(collection); err == nil {
		m.Boxes[i].each(area, f)
		return
	}
	var has [MaxGroups]bool
	for _, g := range m.Slots {
		has[g] = true
	}
	for g := range m.Groups {
		if !has[g] {
			continue
		}
		if i, found := m.Groups[g].extent(collection); found {
			e := &m.Groups[g].Extents[i].Box
			f(Index(g), e, e.Intersects(area))
		} else {
			f(Index(g), nil, true)
		}
	}
}

// each calls f for each range, as that of Map does.
func (c *Curve) each(area rstar.Rect, f func(g Index, extent *rstar.Rect, meets bool)) {
	for i, r := range c.Ranges {
		if r.Bounds == nil {
			f(r.Group, nil, true)
			continue
		}
		last := uint64(math.MaxUint64)
		if i+1 < len(c.Ranges) {
			last = c.Ranges[i+1].Start - 1
		}
		f(r.Group, &r.Bounds.Box, r.Bounds.meets(c.World, r.Start, last, area))
	}
}

func (g *Group) extent(collection string) (int, bool) {
	return slices.BinarySearchFunc(g.Extents, collection, func(e Extent, name string) int { return cmp.Compare(e.Collection, name) })
}

// Meets returns the groups, in order, that may have something of a collection in an
// area: boxes by ranges, of others features by slots.
func (m *Map) Meets(collection string, area rstar.Rect) []Index {
	var asked [MaxGroups]bool
	m.each(collection, area, func(g Index, _ *rstar.Rect, meets bool) { asked[g] = asked[g] || meets })
	var groups []Index
	for g, ask := range asked {
		if ask {
			groups = append(groups, Index(g))
		}
	}
	return groups
}

// Near is a group that may have something at this distance or beyond, and nothing nearer.
type Near struct {
	Group    Index
	Distance float64
}

// Nearest returns the groups that may have something of a collection, nearest first. A
// search for the k nearest asks them in this order until it has k that are nearer than the
// next group. distance returns a lower bound for all inside of a rectangle, such as
// Rect.Distance; without an extent it is 0.
func (m *Map) Nearest(collection string, distance func(rstar.Rect) float64) []Near {
	var near []Near
	m.each(collection, rstar.Rect{}, func(g Index, extent *rstar.Rect, _ bool) {
		d := 0.0
		if extent != nil {
			d = distance(*extent)
		}
		i := slices.IndexFunc(near, func(n Near) bool { return n.Group == g })
		if i < 0 {
			near = append(near, Near{g, d})
			return
		}
		near[i].Distance = min(near[i].Distance, d)
	})
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Group, b.Group))
	})
	return near
}

// BoundGroup returns the map with another extent of what a group has of a collection of
// features, nil: they may be anywhere.
func (m *Map) BoundGroup(g Index, collection string, extent *rstar.Rect) (*Map, error) {
	if err := m.has(g); err != nil {
		return nil, err
	}
	n := m.next()
	n.Groups = slices.Clone(m.Groups)
	i, found := m.Groups[g].extent(collection)
	end := i
	if found {
		end++
	}
	var with []Extent
	if extent != nil {
		with = []Extent{{collection, *extent}}
	}
	n.Groups[g].Extents = slices.Concat(m.Groups[g].Extents[:i], with, m.Groups[g].Extents[end:])
	return n.checked()
}

// BoundRange returns the map with other bounds of the range that starts there, nil: its
// boxes may be anywhere.
func (m *Map) BoundRange(collection string, start uint64, b *Bounds) (*Map, error) {
	curve, at, err := m.ranged(collection, start)
	if err != nil {
		return nil, err
	}
	n := m.next()
	n.ranges(curve)[at].Bounds = b
	return n.checked()
}
