package query

import (
	"maps"
	"math"
	"slices"

	"github.com/catfish-index/catfish/internal/feature"
)

// Join adds the description of another part of the same collection, which has other features.
// The extent is around all geometries; in a geographic space there may be a narrower one.
func (d *Description) Join(o *Description) {
	d.Features, d.NullProperties = d.Features+o.Features, d.NullProperties+o.NullProperties
	d.MoreProperties = d.MoreProperties || o.MoreProperties
	d.Extent = joinExtents(d.Space, d.Extent, o.Extent)
	if d.Created.IsZero() || !o.Created.IsZero() && o.Created.Before(d.Created) {
		d.Created = o.Created
	}
	geometries := map[string]int{}
	for _, g := range slices.Concat(d.Geometries, o.Geometries) {
		geometries[g.Type] += g.Features
	}
	d.Geometries = nil
	for _, name := range slices.Sorted(maps.Keys(geometries)) {
		d.Geometries = append(d.Geometries, GeometryCount{name, geometries[name]})
	}
	properties := map[string]PropertySchema{}
	for _, p := range slices.Concat(d.Properties, o.Properties) {
		sum := PropertySchema{p.Name, properties[p.Name].Features + p.Features, maps.Clone(p.Types)}
		for t, n := range properties[p.Name].Types {
			sum.Types[t] += n
		}
		properties[p.Name] = sum
	}
	d.Properties = nil
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		d.Properties = append(d.Properties, properties[name])
	}
}

// joinExtents is the narrowest box around two, nil: around nothing.
func joinExtents(s feature.Space, a, b *[4]float64) *[4]float64 {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	e := [4]float64{min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])}
	if s != feature.Geographic {
		return &e
	}
	narrowest := math.Inf(1)
	for _, west := range []float64{a[0], b[0]} {
		for _, east := range []float64{a[2], b[2]} {
			if w := eastward(west, east); w < narrowest && within(west, w, a) && within(west, w, b) {
				narrowest, e[0], e[2] = w, west, east
			}
		}
	}
	if math.IsInf(narrowest, 1) {
		e[0], e[2] = -180, 180
	}
	return &e
}

// eastward is how far it is from one longitude eastward to another.
func eastward(from, to float64) float64 {
	if to < from {
		to += 360
	}
	return to - from
}

// within reports whether a box lies in the width degrees east of west.
func within(west, width float64, e *[4]float64) bool {
	return eastward(west, e[0])+eastward(e[0], e[2]) <= width
}
