package api

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
)

// Well-known binary
//
// OGC 06-103r4, section 8.2.3, in two dimensions:
//
//	geometry  | order 1 | type 4 | body |
//	body      point:         x 8, y 8
//	          line string:   count 4, points
//	          polygon:       count 4, rings: each count 4, points
//	          multi and collection: count 4, geometries
//
// Order is 0 for big-endian, 1 for little-endian, and each geometry has its
// own. The reader takes bytes from any source: it allocates no more than the
// remaining bytes have room for, and nests no deeper than feature.MaxDepth.

// wkbReader reads one geometry.
type wkbReader struct {
	b     []byte
	at    int
	depth int
}

// decodeWKB reads one geometry. Errors wrap feature.ErrSyntax.
func decodeWKB(b []byte) (orb.Geometry, error) {
	r := wkbReader{b: b}
	g, err := r.geometry(0)
	if err == nil && r.at < len(b) {
		err = r.fail("%d bytes follow the geometry", len(b)-r.at)
	}
	return g, err
}

func (r *wkbReader) fail(format string, args ...any) error {
	return fmt.Errorf("%w: WKB, byte %d: %s", feature.ErrSyntax, r.at, fmt.Sprintf(format, args...))
}

// geometry reads a geometry, of type want if that is not 0.
func (r *wkbReader) geometry(want uint32) (orb.Geometry, error) {
	if len(r.b)-r.at < 5 {
		return nil, r.fail("ends in a geometry")
	}
	var order binary.ByteOrder = binary.BigEndian
	switch r.b[r.at] {
	case 0:
	case 1:
		order = binary.LittleEndian
	default:
		return nil, r.fail("byte order %d, want 0 or 1", r.b[r.at])
	}
	typ := order.Uint32(r.b[r.at+1:])
	if want != 0 && typ != want {
		return nil, r.fail("type %d, want %d", typ, want)
	}
	r.at += 5
	switch feature.Type(min(typ, math.MaxUint8)) {
	case feature.Point:
		ps, err := r.points(order, 1)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(ps[0][0]) && math.IsNaN(ps[0][1]) {
			return nil, nil // the encoding of an empty point
		}
		return ps[0], nil
	case feature.LineString:
		ps, err := r.counted(order)
		return orb.LineString(ps), err
	case feature.Polygon:
		return r.polygon(order)
	case feature.MultiPoint:
		return members(r, order, typ-3, func(all orb.MultiPoint, p orb.Point) orb.MultiPoint { return append(all, p) })
	case feature.MultiLineString:
		return members(r, order, typ-3, func(all orb.MultiLineString, l orb.LineString) orb.MultiLineString { return append(all, l) })
	case feature.MultiPolygon:
		return members(r, order, typ-3, func(all orb.MultiPolygon, p orb.Polygon) orb.MultiPolygon { return append(all, p) })
	case feature.GeometryCollection:
		if r.depth++; r.depth > feature.MaxDepth {
			return nil, r.fail("collections nest deeper than %d", feature.MaxDepth)
		}
		defer func() { r.depth-- }()
		return members(r, order, 0, func(all orb.Collection, g orb.Geometry) orb.Collection { return append(all, g) })
	}
	r.at -= 5
	return nil, r.fail("geometry type %d, want 1 to 7", typ)
}

// count reads how many elements follow, of which each has at least each bytes.
func (r *wkbReader) count(order binary.ByteOrder, each int) (int, error) {
	if len(r.b)-r.at < 4 {
		return 0, r.fail("ends before a count")
	}
	n := order.Uint32(r.b[r.at:])
	if left := len(r.b) - r.at - 4; uint64(n)*uint64(each) > uint64(left) {
		return 0, r.fail("%d elements in the %d bytes that are left", n, left)
	}
	r.at += 4
	return int(n), nil
}

func (r *wkbReader) counted(order binary.ByteOrder) ([]orb.Point, error) {
	n, err := r.count(order, 16)
	if err != nil {
		return nil, err
	}
	return r.points(order, n)
}

func (r *wkbReader) points(order binary.ByteOrder, n int) ([]orb.Point, error) {
	if len(r.b)-r.at < 16*n {
		return nil, r.fail("ends in a point")
	}
	ps := make([]orb.Point, n)
	for i := range ps {
		for j := range ps[i] {
			ps[i][j] = math.Float64frombits(order.Uint64(r.b[r.at:]))
			r.at += 8
		}
	}
	return ps, nil
}

func (r *wkbReader) polygon(order binary.ByteOrder) (orb.Geometry, error) {
	n, err := r.count(order, 4)
	if err != nil {
		return nil, err
	}
	var p orb.Polygon
	for range n {
		ring, err := r.counted(order)
		if err != nil {
			return nil, err
		}
		p = append(p, ring)
	}
	return p, nil
}

// members reads the geometries of a multi-geometry. Empty points are left out.
func members[M orb.Geometry, G orb.Geometry](r *wkbReader, order binary.ByteOrder, want uint32, add func(M, G) M) (orb.Geometry, error) {
	n, err := r.count(order, 9)
	if err != nil {
		return nil, err
	}
	var all M
	for range n {
		g, err := r.geometry(want)
		if err != nil {
			return nil, err
		}
		if m, ok := g.(G); ok {
			all = add(all, m)
		}
	}
	return all, nil
}
