package query

import (
	"fmt"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
)

// Area is a part of a collection's space.
type Area struct {
	Shape Shape
	// Box: west, south, east, north. In a geographic space west may be greater
	// than east: then it crosses 180 degrees.
	Box [4]float64
	// Polygon is an orb.Polygon or orb.MultiPolygon.
	Polygon orb.Geometry
	// Centre and Radius of a circle, in metres or the unit of a planar space.
	Centre orb.Point
	Radius float64
}

// Shape says which fields of an Area count.
type Shape uint8

// Shapes.
const (
	ShapeBox Shape = iota
	ShapePolygon
	ShapeCircle
)

// Box is the area from west to east and south to north.
func Box(west, south, east, north float64) *Area {
	return &Area{Box: [4]float64{west, south, east, north}}
}

// Polygon is the area of an orb.Polygon or orb.MultiPolygon.
func Polygon(g orb.Geometry) *Area { return &Area{Shape: ShapePolygon, Polygon: g} }

// Circle is what is at most radius away.
func Circle(x, y, radius float64) *Area {
	return &Area{Shape: ShapeCircle, Centre: orb.Point{x, y}, Radius: radius}
}

// Prepare checks an area. The relation is what must hold between a feature and the area.
func (a *Area) Prepare(s feature.Space, r feature.Relation) (*feature.Query, error) {
	return a.prepare(new(feature.Query), s, r)
}

// prepare is Prepare in memory for a box.
func (a *Area) prepare(box *feature.Query, s feature.Space, r feature.Relation) (*feature.Query, error) {
	switch a.Shape {
	case ShapeBox:
		return box, box.SetBox(s, a.Box[0], a.Box[1], a.Box[2], a.Box[3], r)
	case ShapePolygon:
		return feature.NewPolygon(s, a.Polygon, r)
	case ShapeCircle:
		return feature.NewCircle(s, a.Centre, a.Radius, r)
	}
	return nil, fmt.Errorf("%w: shape %d", fault.ErrQuery, a.Shape)
}

// BoxSearch is a search by a box that may be made together with others. The box is
// that of an Area.
type BoxSearch struct {
	Box      [4]float64
	Relation feature.Relation // but Contains, which needs the box as a polygon
	Limit    int              // 0: all
}
