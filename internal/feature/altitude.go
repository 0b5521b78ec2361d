package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// Altitudes
//
// A position may have a third number (RFC 7946, section 3.1.1). It is stored and
// returned, and no test, distance or box looks at it. Geometries are of package orb,
// whose points have two numbers. So altitudes are a separate list: one number for each
// position of the geometry, in the order in which GeoJSON writes them. NaN stands for a
// position without one. Nil, or NaN alone, is a geometry without altitudes.
//
// Normalise may leave out, add and order positions. Each position that stays
// keeps its altitude. One that is added where an edge crosses 180 degrees gets
// the edge's altitude at that point, none if one end of the edge has none. One
// that is added at a pole has none.

// NormaliseZ is Normalise for a geometry and its altitudes.
func NormaliseZ(g orb.Geometry, altitudes []float64, o Options) (orb.Geometry, []float64, error) {
	n := normaliser{Options: o, left: o.maxPositions()}
	if altitudes != nil {
		if err := checkAltitudes(g, altitudes); err != nil {
			return nil, nil, err
		}
		n.z = carried{on: true, left: altitudes}
	}
	g, err := n.geometry(g, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("geometry%w", err)
	}
	return g, someAltitudes(n.z.kept), nil
}

// checkAltitudes checks that each position has one, and that none is infinite.
func checkAltitudes(g orb.Geometry, altitudes []float64) error {
	if n := positionsOf(g, 0); n != len(altitudes) {
		return fmt.Errorf("%w: %d altitudes for %d positions", ErrInvalidGeometry, len(altitudes), n)
	}
	for i, z := range altitudes {
		if math.IsInf(z, 0) {
			return fmt.Errorf("%w: the altitude of position %d is %v", ErrRange, i, z)
		}
	}
	return nil
}

// positionsOf counts the positions. Geometries nested deeper than allowed count as none.
func positionsOf(g orb.Geometry, depth int) (n int) {
	switch g := g.(type) {
	case orb.Point:
		return 1
	case orb.MultiPoint:
		return len(g)
	case orb.LineString:
		return len(g)
	case orb.Ring:
		return len(g)
	case orb.Bound:
		return len(g.ToRing())
	case orb.MultiLineString:
		for _, l := range g {
			n += len(l)
		}
	case orb.Polygon:
		for _, r := range g {
			n += len(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n += positionsOf(p, depth)
		}
	case orb.Collection:
		if depth <= MaxDepth {
			for _, m := range g {
				n += positionsOf(m, depth+1)
			}
		}
	}
	return n
}

// someAltitudes returns nil if all are NaN.
func someAltitudes(altitudes []float64) []float64 {
	for _, z := range altitudes {
		if !math.IsNaN(z) {
			return altitudes
		}
	}
	return nil
}

// carried has the altitudes that accompany positions: those of the positions
// not processed yet, and those of the positions that were kept.
type carried struct {
	on   bool // otherwise all methods do nothing
	left []float64
	kept []float64
}

// take returns the altitudes of the next n positions, nil if there are none.
func (c *carried) take(n int) []float64 {
	if !c.on {
		return nil
	}
	z := c.left[:n:n]
	c.left = c.left[n:]
	return z
}

func (c *carried) keep(z ...float64) {
	if c.on {
		c.kept = append(c.kept, z...)
	}
}

// keepUnwrapped keeps the altitudes of a path.
func (c *carried) keepUnwrapped(r unwrappedRing) {
	if c.on {
		for _, v := range r {
			c.kept = append(c.kept, v.z)
		}
	}
}

// HasAltitudes reports whether any position has an altitude.
func (v *View) HasAltitudes() bool { return v.altitudes != 0 }

// Altitudes appends the altitudes of all positions of Geometry, in its order,
// NaN for a position that has none. It appends nothing if no position has one.
func (v *View) Altitudes(dst []float64) []float64 {
	if v.altitudes != 0 {
		for i := range v.nvertices {
			dst = append(dst, v.altitude(i))
		}
	}
	return dst
}

func (v *View) altitude(i int) float64 { return f64(v.b, v.altitudes+i*altitudeBytes) }

// validateAltitudes checks that none is infinite.
func (v *View) validateAltitudes() error {
	if v.altitudes == 0 {
		return nil
	}
	if v.typ == None {
		return fmt.Errorf("%w: altitudes without a geometry", ErrCorrupt)
	}
	for i := range v.nvertices {
		if math.IsInf(v.altitude(i), 0) {
			return fmt.Errorf("%w: altitude %d is not finite", ErrCorrupt, i)
		}
	}
	return nil
}

// appendAltitude appends a stored altitude. All NaN are stored as one, so that
// equal features have equal bytes.
func appendAltitude(dst []byte, z float64) []byte {
	if math.IsNaN(z) {
		z = math.NaN()
	}
	return appendF64(dst, z)
}
