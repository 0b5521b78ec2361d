package places

import (
	"fmt"
	"math"
	"strings"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"

	"github.com/catfish-index/catfish/internal/places/input"
)

// decodeWKT reads well-known text (OGC 06-103r4), with the SRID that PostGIS
// writes before it if that is longitude and latitude. An empty field, or an empty
// geometry, gives no geometry.
func (p *Place) decodeWKT(text string) (err error) {
	text = strings.TrimSpace(text)
	if srid, rest, ok := strings.Cut(text, ";"); ok {
		if !strings.EqualFold(srid, "SRID=4326") {
			return fmt.Errorf("%w: %s, want SRID=4326 or none",
				input.ErrUnsupported, input.Quote(srid))
		}
		text = rest
	}
	var to altitudes
	whole := text
	if text, err = cutWKT(text, &to); err != nil {
		return fmt.Errorf("%s: %w", input.Quote(whole), err)
	}
	if text == "" || strings.EqualFold(strings.Join(strings.Fields(text), " "), "POINT EMPTY") {
		return nil
	}
	if strings.Count(text, "(") > 0 && depth(text) > maxWKTDepth {
		return fmt.Errorf("%w: WKT nested deeper than %d brackets",
			input.ErrUnsupported, maxWKTDepth)
	}
	g, err := wkt.Unmarshal(text)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", input.ErrSyntax, input.Quote(whole), err)
	}
	return p.set(g, &to)
}

// maxWKTDepth is the depth of a MultiPolygon within collections, as in GeoJSON.
const maxWKTDepth = maxCollections + 3

func depth(text string) int {
	deepest, now := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			now++
			deepest = max(deepest, now)
		case ')':
			now--
		}
	}
	return deepest
}

// set checks a geometry of another decoder, as decodeGeometry checks its own, and
// replaces one without positions by nil.
func (p *Place) set(g orb.Geometry, to *altitudes) (err error) {
	var n normaliser
	n.add(g)
	switch {
	case n.err != nil:
		return n.err
	case n.positions == 0:
		return nil
	}
	p.Geometry = g
	p.Altitudes, err = to.of(n.positions)
	return err
}

type normaliser struct {
	positions int
	err       error
}

func (n *normaliser) add(g orb.Geometry) {
	switch g := g.(type) {
	case orb.Point:
		n.list([]orb.Point{g}, 1)
	case orb.MultiPoint:
		n.list(g, 0)
	case orb.LineString:
		n.list(g, 2)
	case orb.MultiLineString:
		for _, l := range g {
			n.list(l, 2)
		}
	case orb.Polygon:
		for _, r := range g {
			n.list(r, 4)
			if len(r) > 0 && r[0] != r[len(r)-1] {
				n.fail("a ring from %v to %v, want it closed", r[0], r[len(r)-1])
			}
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n.add(p)
		}
	case orb.Collection:
		for _, p := range g {
			n.add(p)
		}
	default:
		n.fail("a geometry of type %T", g)
	}
}

func (n *normaliser) list(points []orb.Point, least int) {
	n.positions += len(points)
	if len(points) > 0 && len(points) < least {
		n.fail("a line or ring of %d positions, want %d or more", len(points), least)
	}
	for _, p := range points {
		for _, v := range p {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				n.fail("coordinate %v, want a finite number", v)
			}
		}
	}
}

func (n *normaliser) fail(format string, args ...any) {
	if n.err == nil {
		n.err = fmt.Errorf("%w: "+format, append([]any{input.ErrSyntax}, args...)...)
	}
}
