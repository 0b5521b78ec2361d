package feature

import "github.com/paulmach/orb"

// Geometry builds the geometry, nil if there is none. It shares nothing with
// the bytes.
func (v *View) Geometry() orb.Geometry {
	if v.typ == None {
		return nil
	}
	w := builder{v: v, coords: make([]orb.Point, v.nvertices)}
	for i := range w.coords {
		w.coords[i][0], w.coords[i][1] = v.vertex(i)
	}
	return w.geometry(v.typ, v.npaths, v.nmembers)
}

// builder walks the paths and the members once, in order.
type builder struct {
	v      *View
	coords []orb.Point
	path   path
	member int
}

func (w *builder) next() []orb.Point {
	w.v.next(&w.path)
	return w.coords[w.path.first:w.path.end:w.path.end]
}

// geometry takes the next count paths. A collection takes members instead,
// the outermost one all of them.
func (w *builder) geometry(t Type, count, members int) orb.Geometry {
	switch t {
	case Point:
		return w.next()[0]
	case MultiPoint:
		return orb.MultiPoint(w.next())
	case LineString:
		return orb.LineString(w.next())
	case MultiLineString:
		m := make(orb.MultiLineString, count)
		for i := range m {
			m[i] = w.next()
		}
		return m
	case Polygon:
		return w.polygons(count)[0]
	case MultiPolygon:
		return w.polygons(count)
	}
	var c orb.Collection
	for n := 0; n < members && w.member < w.v.nmembers; n++ {
		off := w.v.members + w.member*memberBytes
		t, count := Type(u32(w.v.b, off)), u32(w.v.b, off+4)
		w.member++
		c = append(c, w.geometry(t, count, count))
	}
	return c
}

func (w *builder) polygons(count int) orb.MultiPolygon {
	var m orb.MultiPolygon
	for range count {
		ring := w.next()
		if w.path.kind == shell {
			m = append(m, nil)
		}
		m[len(m)-1] = append(m[len(m)-1], ring)
	}
	return m
}
