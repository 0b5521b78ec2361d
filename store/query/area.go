package query

import (
	"fmt"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/fault"
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

// prepare makes p.area, in memory that p has, if it is a box.
func (a *Area) prepare(p *Prepared, s feature.Space, r feature.Relation) (err error) {
	switch a.Shape {
	case ShapeBox:
		if p.box == nil {
			p.box = new(feature.Query)
		}
		p.area = p.box
		return p.box.SetBox(s, a.Box[0], a.Box[1], a.Box[2], a.Box[3], r)
	case ShapePolygon:
		p.area, err = feature.NewPolygon(s, a.Polygon, r)
		return err
	case ShapeCircle:
		p.area, err = feature.NewCircle(s, a.Centre, a.Radius, r)
		return err
	}
	return fmt.Errorf("%w: shape %d", fault.ErrQuery, a.Shape)
}

// BoxSearch is a search by a box that may be made together with others. The box is
// that of an Area.
type BoxSearch struct {
	Box      [4]float64
	Relation feature.Relation // but Contains, which needs the box as a polygon
	Limit    int              // 0: all
}
