package cql2

import (
	"encoding/json"
	"strconv"

	"github.com/paulmach/orb"
)

// Geometries in CQL2 JSON are those of GeoJSON, and boxes. Heights and a geometry's
// member bbox are ignored.

func (p *jsonParser) geometry(n *node, o object, at *pointer) {
	n.form = shape
	of := at.to("coordinates")
	switch typ := p.text(o, "type", at); typ {
	case "Point":
		n.geometry = p.position(o.get("coordinates"), of)
	case "Polygon":
		n.geometry = p.polygon(o.get("coordinates"), of)
	case "MultiPolygon":
		n.geometry = orb.MultiPolygon(each(p, o.get("coordinates"), of, p.polygon))
	default:
		p.fail(at.to("type"), "%.40q, want Point, Polygon or MultiPolygon, or a bbox", typ)
	}
}

// each reads the elements of an array.
func each[T any](p *jsonParser, v any, at *pointer, read func(any, *pointer) T) (all []T) {
	elements, ok := v.([]any)
	if !ok {
		p.fail(at, "want an array")
	}
	for i, e := range elements {
		all = append(all, read(e, at.index(i)))
	}
	return all
}

func (p *jsonParser) polygon(v any, at *pointer) orb.Polygon {
	return each(p, v, at, func(v any, at *pointer) orb.Ring { return each(p, v, at, p.position) })
}

func (p *jsonParser) position(v any, at *pointer) orb.Point {
	all := each(p, v, at, p.number)
	if len(all) != 2 && len(all) != 3 {
		p.fail(at, "a position of %d numbers, want 2 or 3", len(all))
	}
	return orb.Point{all[0], all[1]}
}

func (p *jsonParser) number(v any, at *pointer) float64 {
	s, ok := v.(json.Number)
	if !ok {
		p.fail(at, "want a number")
	}
	f, err := strconv.ParseFloat(s.String(), 64)
	if err != nil {
		p.fail(at, "%.40s is no number from -1.8e308 to 1.8e308", s)
	}
	return f
}

func (p *jsonParser) box(n *node, o object, at *pointer) {
	n.form = box
	n.bbox = each(p, o.get("bbox"), at.to("bbox"), p.number)
}
