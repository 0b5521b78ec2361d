package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// maxLongitude accepts -180..180, 0..360, and geometries drawn across 180
// degrees on either side of a map. A larger value is a mistake, such as metres.
const maxLongitude = 360

// maxPlanar keeps sums of products of coordinates finite, which exact tests
// rely on.
const maxPlanar = 1e150

// Normalise checks a geometry and brings it into the form that is stored. It
// returns nil for a geometry without any position, and leaves out empty
// parts. g is not changed, but the result may share its coordinates.
//
// Rings must be closed, have at least four positions, and must not cross
// themselves or other rings of their polygon. They may touch, and have either
// winding. Options.Lenient closes open rings and accepts crossing ones.
//
// In a geographic space latitudes are from -90 to 90, and longitudes from -360
// to 360, so that 0..360 is valid, too; they are moved to -180..180. A geometry
// that crosses 180 degrees is cut there and may become a MultiLineString or
// MultiPolygon. A step of more than 180 degrees between two positions is taken
// to be the short way, across 180 degrees; one of exactly 360 is left, since it
// follows a parallel from one edge of the map to the other. A shell with such
// steps that is counterclockwise as written (which RFC 7946, section 3.1.6,
// asks for), but clockwise the short way, is meant as written: the outline of a
// wide map window. A ring that then encircles a pole contains that pole on
// whose side its mean latitude is.
func Normalise(g orb.Geometry, o Options) (orb.Geometry, error) {
	g, _, err := NormaliseZ(g, nil, o)
	return g, err
}

// checkPosition returns the error of Normalise for a point.
func checkPosition(s Space, p orb.Point) error {
	n := normaliser{Options: Options{Space: s}, left: 1}
	if err := n.check(p); err != nil {
		return fmt.Errorf("geometry%w", prefix(".coordinates", err))
	}
	return nil
}

type normaliser struct {
	Options
	left int // positions that may still come
	z    carried
}

func (n *normaliser) geometry(g orb.Geometry, depth int) (orb.Geometry, error) {
	const at = ".coordinates"
	switch g := g.(type) {
	case nil:
		return nil, nil
	case orb.Point:
		if err := n.check(g); err != nil {
			return nil, prefix(at, err)
		}
		n.z.keep(n.z.take(1)...)
		if x := n.wrap(g[0]); x != g[0] {
			return orb.Point{x, g[1]}, nil
		}
		return g, nil
	case orb.MultiPoint:
		return n.multiPoint(g)
	case orb.LineString:
		return n.lines(at, g)
	case orb.MultiLineString:
		return n.multiLine(g)
	case orb.Ring:
		return n.multiPolygon(at, orb.MultiPolygon{{g}}, true)
	case orb.Bound:
		return n.multiPolygon(at, orb.MultiPolygon{g.ToPolygon()}, true)
	case orb.Polygon:
		return n.multiPolygon(at, orb.MultiPolygon{g}, true)
	case orb.MultiPolygon:
		return n.multiPolygon(at, g, false)
	case orb.Collection:
		if depth >= MaxDepth {
			return nil, fmt.Errorf(": %w: geometry collections nest deeper than %d",
				ErrTooLarge, MaxDepth)
		}
		var c orb.Collection
		for i, member := range g {
			m, err := n.geometry(member, depth+1)
			if err != nil {
				return nil, fmt.Errorf(".geometries[%d]%w", i, err)
			}
			if m != nil {
				c = append(c, m)
			}
		}
		if c == nil {
			return nil, nil
		}
		return c, nil
	}
	return nil, fmt.Errorf(": %w: type %T", ErrInvalidGeometry, g)
}

// check checks one position.
func (n *normaliser) check(p orb.Point) error {
	if n.left--; n.left < 0 {
		return fmt.Errorf("%w: more than %d positions", ErrTooLarge, n.maxPositions())
	}
	x, y := p[0], p[1]
	if n.Space == Planar {
		if !(math.Abs(x) <= maxPlanar && math.Abs(y) <= maxPlanar) {
			return fmt.Errorf("%w: (%v, %v) is outside -%g..%g",
				ErrRange, x, y, maxPlanar, maxPlanar)
		}
		return nil
	}
	switch {
	case !(math.Abs(y) <= 90) && math.Abs(x) <= 90:
		return fmt.Errorf("%w: latitude %v is outside -90..90 (the longitude comes first)",
			ErrRange, y)
	case !(math.Abs(y) <= 90):
		return fmt.Errorf("%w: latitude %v is outside -90..90", ErrRange, y)
	case !(math.Abs(x) <= maxLongitude):
		return fmt.Errorf("%w: longitude %v is outside -%d..%d",
			ErrRange, x, maxLongitude, maxLongitude)
	}
	return nil
}

// wrap moves one longitude to -180..180.
func (n *normaliser) wrap(x float64) float64 {
	if n.Space == Planar {
		return x
	}
	return wrapLongitude(x)
}

func wrapLongitude(x float64) float64 {
	for x > 180 {
		x -= 360
	}
	for x < -180 {
		x += 360
	}
	return x
}

// checkLine checks the positions of a path.
func (n *normaliser) checkLine(v []orb.Point) error {
	for i, p := range v {
		if err := n.check(p); err != nil {
			return within("", i, prefix("", err))
		}
	}
	return nil
}

func (n *normaliser) multiPoint(m orb.MultiPoint) (orb.Geometry, error) {
	if err := n.checkLine(m); err != nil {
		return nil, fmt.Errorf(".coordinates%w", err)
	}
	n.z.keep(n.z.take(len(m))...)
	var out orb.MultiPoint
	for i, p := range m {
		if x := n.wrap(p[0]); x != p[0] {
			if out == nil {
				out = append(out, m...)
			}
			out[i][0] = x
		}
	}
	switch {
	case len(m) == 0:
		return nil, nil
	case out != nil:
		return out, nil
	}
	return m, nil
}

func (n *normaliser) multiLine(m orb.MultiLineString) (orb.Geometry, error) {
	var out orb.MultiLineString
	for i, l := range m {
		g, err := n.lines(fmt.Sprintf(".coordinates[%d]", i), l)
		if err != nil {
			return nil, err
		}
		switch g := g.(type) {
		case orb.LineString:
			out = append(out, g)
		case orb.MultiLineString:
			out = append(out, g...)
		}
	}
	if out == nil {
		return nil, nil
	}
	return out, nil
}

// lines returns a line, or its parts if it is cut.
func (n *normaliser) lines(at string, l orb.LineString) (orb.Geometry, error) {
	if len(l) == 0 {
		return nil, nil
	}
	if err := n.checkLine(l); err != nil {
		return nil, fmt.Errorf("%s%w", at, err)
	}
	if err := checkPath(line, l); err != nil {
		return nil, prefix(at, err)
	}
	z := n.z.take(len(l))
	if n.Space == Planar || !wraps(l) {
		n.z.keep(z...)
		return l, nil
	}
	u, _ := unwrap(l, z, n.LongEdges)
	parts := cutLine(u, &n.z)
	if len(parts) == 1 {
		return parts[0], nil
	}
	return parts, nil
}
