package feature

import "github.com/peterstace/simplefeatures/geom"

// library answers by simplefeatures.
func library(a, b *View) (bool, error) {
	return geom.Within(a.simple(), b.simple())
}

// simple is v for simplefeatures. It is not validated: Relate accepts more
// than is valid.
func (v *View) simple() geom.Geometry {
	w := simplifier{v: v}
	return w.geometry(v.typ, v.npaths, v.nmembers)
}

// simplifier walks as builder does.
type simplifier struct {
	v      *View
	path   path
	member int
}

// coordinates of the next path, x and y in turns.
func (w *simplifier) coordinates() []float64 {
	w.v.next(&w.path)
	c := make([]float64, 0, 2*(w.path.end-w.path.first))
	for i := w.path.first; i < w.path.end; i++ {
		x, y := w.v.vertex(i)
		c = append(c, x, y)
	}
	return c
}

func (w *simplifier) geometry(t Type, count, members int) geom.Geometry {
	switch t {
	case Point:
		c := w.coordinates()
		return geom.NewPointXY(c[0], c[1]).AsGeometry()
	case MultiPoint:
		return geom.NewMultiPointXY(w.coordinates()...).AsGeometry()
	case LineString:
		return geom.NewLineStringXY(w.coordinates()...).AsGeometry()
	case MultiLineString:
		lines := make([][]float64, count)
		for i := range lines {
			lines[i] = w.coordinates()
		}
		return geom.NewMultiLineStringXY(lines...).AsGeometry()
	case Polygon, MultiPolygon:
		var polygons [][][]float64
		for range count {
			ring := w.coordinates()
			if w.path.kind == shell {
				polygons = append(polygons, nil)
			}
			last := len(polygons) - 1
			polygons[last] = append(polygons[last], ring)
		}
		if t == Polygon {
			return geom.NewPolygonXY(polygons[0]...).AsGeometry()
		}
		return geom.NewMultiPolygonXY(polygons...).AsGeometry()
	}
	var all []geom.Geometry
	for n := 0; n < members && w.member < w.v.nmembers; n++ {
		off := w.v.members + w.member*memberBytes
		w.member++
		c := u32(w.v.b, off+4)
		all = append(all, w.geometry(Type(u32(w.v.b, off)), c, c))
	}
	return geom.NewGeometryCollection(all).AsGeometry()
}
