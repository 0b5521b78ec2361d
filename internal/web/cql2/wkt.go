package cql2

import (
	"strings"

	"github.com/paulmach/orb"
)

// argument parses a function's argument: a geometry, an interval, an array or an
// operand.
func (p *parser) argument() *node {
	if p.tok.is("(") {
		return p.array()
	}
	if p.tok.kind != name {
		return p.operand()
	}
	switch strings.ToUpper(p.tok.text) {
	case "POINT":
		return p.point()
	case "POLYGON", "MULTIPOLYGON":
		return p.polygons()
	case "BBOX":
		return p.box()
	case "INTERVAL":
		return p.interval()
	case "LINESTRING", "MULTIPOINT", "MULTILINESTRING", "GEOMETRYCOLLECTION":
		p.fail(p.tok, "%v, want the property %s, %s", p.tok, geometry, geometries)
	}
	return p.operand()
}

// array parses ( x, x, ... ), which may be empty.
func (p *parser) array() *node {
	n := &node{form: list, at: at(p.tok)}
	p.step()
	if p.take(")") {
		return n
	}
	n.args = append(n.args, p.operand())
	for p.take(",") {
		n.args = append(n.args, p.operand())
	}
	p.want(")")
	return n
}

// tag parses the keyword of a geometry in well-known text. Positions show whether they
// have heights, as the standard requires; heights are ignored.
func (p *parser) tag() *node {
	n := &node{form: shape, at: at(p.tok)}
	p.step()
	p.take("z")
	return n
}

func (p *parser) point() *node {
	n := p.tag()
	p.want("(")
	n.geometry = p.position()
	p.want(")")
	return n
}

func (p *parser) polygons() *node {
	multi := strings.EqualFold(p.tok.text, "MULTIPOLYGON")
	n := p.tag()
	if !multi {
		n.geometry = p.polygon()
		return n
	}
	var all orb.MultiPolygon
	p.list(func() { all = append(all, p.polygon()) })
	n.geometry = all
	return n
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
	_, x := p.number()
	_, y := p.number()
	if p.tok.kind == number || p.tok.is("-") || p.tok.is("+") {
		p.number()
	}
	return orb.Point{x, y}
}

func (p *parser) box() *node {
	n := &node{form: box, at: at(p.tok)}
	p.step()
	p.list(func() {
		_, f := p.number()
		n.bbox = append(n.bbox, f)
	})
	return n
}
