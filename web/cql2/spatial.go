package cql2

import (
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
)

// geometry is the property that spatial predicates are about.
const geometry = "geometry"

// relations of spatial predicates whose first argument is the feature's geometry,
// and of those whose second is.
var relations = map[string][2]feature.Relation{
	"S_INTERSECTS": {feature.Intersects, feature.Intersects},
	"S_DISJOINT":   {feature.Intersects, feature.Intersects}, // negated
	"S_WITHIN":     {feature.Within, feature.Contains},
	"S_CONTAINS":   {feature.Contains, feature.Within},
	"S_DWITHIN":    {feature.Intersects, feature.Intersects}, // with a circle
}

func (p *parser) spatial(neg bool) *Expr {
	function := p.tok
	f := strings.ToUpper(function.text)
	both, ok := relations[f]
	if !ok {
		p.fail(function, "function %v is unknown, want S_INTERSECTS, S_DISJOINT, S_WITHIN, S_CONTAINS or S_DWITHIN", function)
	}
	p.step()
	p.want("(")
	e := &Expr{Op: Area, Not: neg != (f == "S_DISJOINT"), Relation: both[0]}
	first := p.isGeometry()
	if first {
		p.step()
		p.want(",")
	}
	at := p.tok
	point, isPoint := p.shape(e)
	if !first {
		p.want(",")
		if !p.isGeometry() {
			p.fail(p.tok, "%v, want the property %s", p.tok, geometry)
		}
		p.step()
		e.Relation = both[1]
	}
	if f == "S_DWITHIN" {
		if !isPoint {
			p.fail(at, "%v, want a POINT in S_DWITHIN", at)
		}
		p.want(",")
		far := p.tok
		metres := p.number()
		if metres < 0 {
			p.fail(far, "a distance of %v, want 0 or more metres", metres)
		}
		e.Area = store.Circle(point[0], point[1], metres)
	}
	p.want(")")
	// Areas are checked here, where their column is known.
	q := store.Query{Area: e.Area, Relation: e.Relation}
	if _, err := q.Prepare(feature.Geographic); err != nil {
		p.fail(at, "%s", strings.TrimPrefix(err.Error(), store.ErrQuery.Error()+": area: "))
	}
	return e
}

func (p *parser) isGeometry() bool {
	return p.tok.kind == quoted && p.tok.text == geometry || p.tok.is(geometry)
}

// shape takes a geometry in well-known text, or a BBOX.
func (p *parser) shape(e *Expr) (point orb.Point, isPoint bool) {
	at := p.tok
	switch {
	case p.take("point"):
		p.want("(")
		point = p.position()
		p.want(")")
		// A point is a box without area.
		e.Area = store.Box(point[0], point[1], point[0], point[1])
		return point, true
	case p.take("bbox"):
		e.Area = p.bbox(at)
		return point, false
	case p.take("polygon"):
		e.Area = store.Polygon(p.normal(at, p.polygon()))
		return point, false
	case p.take("multipolygon"):
		var m orb.MultiPolygon
		p.list(func() { m = append(m, p.polygon()) })
		e.Area = store.Polygon(p.normal(at, m))
		return point, false
	}
	p.fail(at, "%v, want the property %s, POINT, POLYGON, MULTIPOLYGON or BBOX", at, geometry)
	return point, false
}

func (p *parser) normal(at token, g orb.Geometry) orb.Geometry {
	g, err := feature.Normalise(g, feature.Options{Space: feature.Geographic})
	if err != nil {
		p.fail(at, "%v", err)
	}
	return g
}

func (p *parser) bbox(at token) *store.Area {
	var v []float64
	p.list(func() { v = append(v, p.number()) })
	if len(v) != 4 && len(v) != 6 {
		p.fail(at, "a BBOX of %d numbers, want 4 or 6", len(v))
	}
	n := len(v) / 2
	return store.Box(v[0], v[1], v[n], v[n+1])
}

// list takes ( x, x, ... ).
func (p *parser) list(x func()) {
	p.want("(")
	x()
	for p.take(",") {
		x()
	}
	p.want(")")
}

func (p *parser) polygon() (g orb.Polygon) {
	p.list(func() {
		var ring orb.Ring
		p.list(func() { ring = append(ring, p.position()) })
		g = append(g, ring)
	})
	return g
}

func (p *parser) position() orb.Point {
	x := p.number()
	return orb.Point{x, p.number()}
}
