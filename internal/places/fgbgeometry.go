package places

import (
	"encoding/binary"
	"math"

	"github.com/paulmach/orb"
)

// geometry makes a geometry of a table. The table's type counts only if the file
// has no common type. Parts of collections have their own types.
func (f *flat) geometry(g table, kind, level int) orb.Geometry {
	if kind == 0 {
		kind = f.u8(g, 6)
	}
	if level > maxCollections {
		f.fail("parts nested deeper than %d", maxCollections)
	}
	if f.err != nil {
		return nil
	}
	switch kind {
	case 1:
		begin := f.to.read
		if all := f.positions(g); len(all) > 0 {
			f.to.back(begin + 1)
			return all[0]
		}
		return orb.MultiPoint{}
	case 2:
		return orb.LineString(f.positions(g))
	case 3:
		return f.polygon(g)
	case 4:
		return orb.MultiPoint(f.positions(g))
	case 5:
		var lines orb.MultiLineString
		for _, part := range f.split(g) {
			lines = append(lines, orb.LineString(part))
		}
		return lines
	case 6:
		var polygons orb.MultiPolygon
		for i, parts := 0, f.vector(g, 7, 4); i < parts.n && f.err == nil; i++ {
			polygons = append(polygons, f.polygon(f.element(parts, i)))
		}
		return polygons
	case 7:
		var all orb.Collection
		for i, parts := 0, f.vector(g, 7, 4); i < parts.n && f.err == nil; i++ {
			all = append(all, f.geometry(f.element(parts, i), 0, level+1))
		}
		return all
	}
	f.fail("geometry type %d, want 1 to 7: no curves or surfaces", kind)
	return nil
}

func (f *flat) polygon(g table) orb.Polygon {
	var rings orb.Polygon
	for _, part := range f.split(g) {
		rings = append(rings, orb.Ring(part))
	}
	return rings
}

// positions returns all of xy.
func (f *flat) positions(g table) []orb.Point {
	xy := f.vector(g, 1, 8)
	if xy.n%2 != 0 {
		f.fail("%d coordinates, want pairs", xy.n)
	}
	b := f.bytes(xy.at, 8*xy.n)
	if f.err != nil {
		return nil
	}
	all := make([]orb.Point, xy.n/2)
	for i := range all {
		for j := range all[i] {
			all[i][j] = math.Float64frombits(binary.LittleEndian.Uint64(b[16*i+8*j:]))
		}
	}
	if f.altitudes(g, len(all)); f.err != nil {
		return nil
	}
	return all
}

// altitudes keeps the altitudes of all positions: the table has one for each, or none.
func (f *flat) altitudes(g table, positions int) {
	z := f.vector(g, 2, 8)
	if z.n != 0 && z.n != positions {
		f.fail("%d altitudes of %d positions", z.n, positions)
	}
	b := f.bytes(z.at, 8*z.n)
	if f.err != nil {
		return
	}
	for i := range positions {
		altitude := math.NaN()
		if z.n > 0 {
			altitude = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
		if math.IsInf(altitude, 0) {
			f.fail("altitude %v, want a finite number", altitude)
		}
		f.to.keep(altitude)
	}
}

// split returns the positions of each part: ends counts them from the first
// part on. Without ends there is one part.
func (f *flat) split(g table) [][]orb.Point {
	begin := f.to.read
	all := f.positions(g)
	ends := f.vector(g, 0, 4)
	if ends.n == 0 && len(all) > 0 {
		return [][]orb.Point{all}
	}
	var parts [][]orb.Point
	from := 0
	for i := range ends.n {
		to := f.u32(ends.at + 4*i)
		if to < from || to > len(all) {
			f.fail("a part from %d to %d of %d positions", from, to, len(all))
		}
		if f.err != nil {
			return nil
		}
		parts = append(parts, all[from:to:to])
		from = to
	}
	f.to.back(begin + from) // Positions after the last end belong to no part.
	return parts
}
