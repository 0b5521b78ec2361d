package feature

import "github.com/peterstace/simplefeatures/geom"

// library answers by simplefeatures. It does not get geometry collections: its
// Relate (0.59.0) says that the collection of a polygon and a point outside of
// it does not contain a square inside the polygon. So it gets only the polygons
// of b, and a is split by dimension: all of it must be covered, and some of it
// within.
func library(a, b *View) (bool, error) {
	area := b.simple(shell)
	if a.typ != GeometryCollection {
		return geom.Within(a.simple(0), area)
	}
	inside := false
	for _, k := range []kind{points, line, shell} {
		part := a.simple(k)
		if part.IsEmpty() {
			continue
		}
		covered, err := geom.CoveredBy(part, area)
		if err != nil || !covered {
			return false, err
		}
		within, err := geom.Within(part, area)
		if err != nil {
			return false, err
		}
		inside = inside || within
	}
	return inside, nil
}

// simple returns v for simplefeatures, or only its paths of one kind as a multi
// geometry (shell: polygons). It is not validated: Relate accepts some invalid
// ones.
func (v *View) simple(only kind) geom.Geometry {
	w := simplifier{v: v}
	if only == 0 && v.typ != GeometryCollection {
		return w.geometry(v.typ, v.npaths)
	}
	var xys []float64
	var lines [][]float64
	var polygons [][][]float64
	for range v.npaths {
		c := w.coordinates()
		switch k := w.path.kind; {
		case k == points && only == points:
			xys = append(xys, c...)
		case k == line && only == line:
			lines = append(lines, c)
		case k >= shell && only == shell:
			polygons = addRing(polygons, k, c)
		}
	}
	switch only {
	case points:
		return geom.NewMultiPointXY(xys...).AsGeometry()
	case line:
		return geom.NewMultiLineStringXY(lines...).AsGeometry()
	}
	return geom.NewMultiPolygonXY(polygons...).AsGeometry()
}

func addRing(polygons [][][]float64, k kind, ring []float64) [][][]float64 {
	if k == shell {
		polygons = append(polygons, nil)
	}
	last := len(polygons) - 1
	polygons[last] = append(polygons[last], ring)
	return polygons
}

// simplifier walks like builder, except for collections.
type simplifier struct {
	v    *View
	path path
}

// coordinates returns those of the next path, x and y alternately.
func (w *simplifier) coordinates() []float64 {
	w.v.next(&w.path)
	c := make([]float64, 0, 2*(w.path.end-w.path.first))
	for i := w.path.first; i < w.path.end; i++ {
		x, y := w.v.vertex(i)
		c = append(c, x, y)
	}
	return c
}

func (w *simplifier) geometry(t Type, count int) geom.Geometry {
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
	}
	var polygons [][][]float64
	for range count {
		c := w.coordinates()
		polygons = addRing(polygons, w.path.kind, c)
	}
	if t == Polygon {
		return geom.NewPolygonXY(polygons[0]...).AsGeometry()
	}
	return geom.NewMultiPolygonXY(polygons...).AsGeometry()
}
