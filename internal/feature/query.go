package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// Relation is what must hold between a feature and the area of a query. Both
// include their edges: touching is intersecting.
type Relation uint8

const (
	// Intersects: they share a point.
	Intersects Relation = iota
	// Within: all of the feature lies in the area, and not only on its
	// edge (DE-9IM within: a point on the edge intersects, but is not
	// within).
	Within
	// Contains: all of the area lies in the feature, and not only on its
	// edge.
	Contains
)

// Query is an area and a relation, prepared for many features. It does not
// change after it was created.
//
// Points, boxes and polygons in a geographic space are as in the plane of
// longitude and latitude. A point exactly on 180 degrees has two longitudes.
// Both are tried for points and boxes on one side, not for lines and polygons
// that only touch 180 from different sides.
type Query struct {
	space    Space
	relation Relation
	kind     queryKind
	boxes    []Box  // boxes to search for in a tree
	own      [2]Box // memory of boxes, of a query by box
	area     View   // points and polygons; boxes if relation is Contains
	origin   Origin
	antipode Origin
	radius   float64
}

type queryKind uint8

const (
	queryPoint queryKind = iota
	queryBox
	queryPolygon
	queryCircle
)

// Boxes returns the boxes to search for in a tree: a feature can only match if
// one of its boxes intersects one of these. The caller must not change them.
func (q *Query) Boxes() []Box { return q.boxes }

// Relation returns the relation of the query.
func (q *Query) Relation() Relation { return q.relation }

// NewPoint asks for the features that contain a point or have it on their edge:
// which country is this point in. Its relation is Intersects.
func NewPoint(s Space, p orb.Point) (*Query, error) {
	g, err := Normalise(p, Options{Space: s})
	if err != nil {
		return nil, err
	}
	p = g.(orb.Point)
	all := orb.MultiPoint{p}
	if s == Geographic && math.Abs(p[0]) == 180 {
		all = append(all, orb.Point{-p[0], p[1]})
	}
	q := &Query{space: s, kind: queryPoint}
	for _, p := range all {
		q.boxes = append(q.boxes, Box{p[0], p[1], p[0], p[1]})
	}
	return q, q.setArea(all)
}

// NewBox asks for a box. In a geographic space one with west > east crosses 180
// degrees, and longitudes may be from -360 to 360. A box without area is a line
// or a point; a feature that lies in it is within it.
func NewBox(s Space, west, south, east, north float64, r Relation) (*Query, error) {
	q := new(Query)
	if err := q.SetBox(s, west, south, east, north, r); err != nil {
		return nil, err
	}
	return q, nil
}

// SetBox makes q, which may be any query, what NewBox returns, in q's own memory:
// only Contains allocates. No goroutine may use q or its Boxes meanwhile, and q
// must not be copied. After an error q is invalid until the next SetBox.
func (q *Query) SetBox(s Space, west, south, east, north float64, r Relation) error {
	q.space, q.relation, q.kind, q.boxes = s, r, queryBox, nil
	for _, p := range [...]orb.Point{{west, south}, {east, north}} {
		if err := checkPosition(s, p); err != nil {
			return err
		}
	}
	switch {
	case south > north:
		return fmt.Errorf("%w: south %v is above north %v",
			ErrInvalidGeometry, south, north)
	case s == Planar && west > east:
		return fmt.Errorf("%w: minimum x %v is above maximum %v",
			ErrInvalidGeometry, west, east)
	}
	if s == Planar {
		q.boxes = append(q.own[:0], Box{west, south, east, north})
	} else {
		q.boxes = longitudes(q.own[:0], west, south, east, north)
	}
	if r != Contains {
		return nil
	}
	var area orb.MultiPolygon
	for _, b := range q.boxes {
		if !b.degenerate() || len(q.boxes) == 1 {
			area = append(area, orb.Bound{
				Min: orb.Point{b.MinX, b.MinY}, Max: orb.Point{b.MaxX, b.MaxY},
			}.ToPolygon())
		}
	}
	return q.setArea(area)
}

// longitudes appends the boxes of -180..180 from west to east to an empty dst,
// at most two. A box that ends at 180 degrees also gets one of no width at the
// other longitude of that meridian.
func longitudes(dst []Box, west, south, east, north float64) []Box {
	if east-west >= 360 {
		return append(dst, Box{-180, south, 180, north})
	}
	w, e := wrapLongitude(west), wrapLongitude(east)
	switch {
	case w == 180 && w != e:
		w = -180
	case e == -180 && w != e:
		e = 180
	}
	if w > e {
		return append(dst, Box{w, south, 180, north}, Box{-180, south, e, north})
	}
	return withMeridian(append(dst, Box{w, south, e, north}))
}

// withMeridian adds the other longitude of the meridian of 180 degrees.
func withMeridian(boxes []Box) []Box {
	east, west := emptyBox(), emptyBox()
	for _, b := range boxes {
		if b.MaxX == 180 {
			east = east.extend(b)
		}
		if b.MinX == -180 {
			west = west.extend(b)
		}
	}
	if east.MaxX == 180 && west.MinX != -180 {
		boxes = append(boxes, Box{-180, east.MinY, -180, east.MaxY})
	}
	if west.MinX == -180 && east.MaxX != 180 {
		boxes = append(boxes, Box{180, west.MinY, 180, west.MaxY})
	}
	return boxes
}

// NewPolygon asks for an orb.Polygon, MultiPolygon, Ring or Bound. It is
// normalised and checked as features are.
func NewPolygon(s Space, g orb.Geometry, r Relation) (*Query, error) {
	switch g.(type) {
	case orb.Polygon, orb.MultiPolygon, orb.Ring, orb.Bound:
	default:
		return nil, fmt.Errorf("%w: type %T, want a polygon", ErrInvalidGeometry, g)
	}
	g, err := Normalise(g, Options{Space: s})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fmt.Errorf("%w: the polygon has no positions", ErrInvalidGeometry)
	}
	q := &Query{space: s, relation: r, kind: queryPolygon}
	if err := q.setArea(g); err != nil {
		return nil, err
	}
	q.boxes = q.area.Boxes(nil)
	if s == Geographic {
		q.boxes = withMeridian(q.boxes)
	}
	return q, nil
}

func (q *Query) setArea(g orb.Geometry) error {
	b, err := Append(nil, g, nil)
	if err == nil {
		q.area, err = Open(b)
	}
	return err
}

// NewCircle asks for features at most radius away from the centre, by
// Origin.Distance: metres in a geographic space.
func NewCircle(s Space, centre orb.Point, radius float64, r Relation) (*Query, error) {
	if !(radius >= 0) || math.IsInf(radius, 1) {
		return nil, fmt.Errorf("%w: radius %v", ErrRange, radius)
	}
	o, err := NewOrigin(s, centre)
	if err != nil {
		return nil, err
	}
	q := &Query{space: s, relation: r, kind: queryCircle, origin: o, radius: radius}
	q.boxes = o.around(radius)
	q.antipode = o.antipode()
	return q, nil
}
