package store

import (
	"fmt"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/rstar"
)

// Query says which features are wanted. The zero value is all of them.
type Query struct {
	Area *Area // nil: everywhere, and nowhere: features without a geometry, too
	// Nowhere makes features without a geometry pass any Area of a geographic space.
	// Only a Collection knows it, no client.
	Nowhere bool
	// Relation is what must hold between a feature and the area.
	Relation feature.Relation
	// Filter is a condition on properties, id, geometry type and times
	// (package filter). Empty: none.
	Filter string
	// Where, if not nil, is a further condition. Only a Collection knows it, no client.
	Where *filter.Program
	// Limit is how many are wanted; 0: all. Limits apply to what has passed the
	// filter.
	Limit int
	// Order says in which order they come, and which of them if there are more
	// than Limit.
	Order Order
	// After continues an order by id after this one.
	After string
	// Count makes a search of an Area by id count all that it wants, which
	// Buffer.Matched then is. It looks at all of the area, whatever the Limit.
	Count bool
	// Sample, if not nil, says by an entry of the tree whether its feature is looked at:
	// a search of an Area in AnyOrder leaves others out without reading them. It is
	// called by one goroutine.
	Sample func(rstar.Rect) bool
	// Fields are the parts of features that are wanted. Filters see all of them.
	Fields feature.Selection
	// Pace, if not nil, is called after each 0.1 ms or so of work, so that a
	// server can let others go first. Its error ends the search. If it takes most
	// of a second the search may end with ErrPaused.
	Pace func() error
	// Rest, if not nil, is called before DeleteWhere waits for its writes: until
	// Pace is called it needs no processor.
	Rest func()
	// Hold, if not nil, is called with the number of bytes that the search keeps, when
	// that has changed by 64 KiB: of found entries and features, not looked at or given
	// yet. At the end it is called with 0. Its error ends the search.
	Hold func(bytes int64) error
}

// Order of an answer.
type Order uint8

// Orders. ByID is that of the bytes of ids. It is stable: writes in the
// meantime move nothing else.
const (
	AnyOrder Order = iota
	ByID
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
	return nil, fmt.Errorf("%w: shape %d", ErrQuery, a.Shape)
}

// Prepared is a Query for a space, ready for any number of features. It is safe
// for concurrent use.
type Prepared struct {
	Query
	area   *feature.Query  // nil: everywhere
	filter *filter.Program // nil: none
	boxes  []rstar.Rect    // what to search for in the tree
	box    *feature.Query  // memory for area
}

// Prepare checks and compiles a query. Errors wrap ErrQuery, filter.ErrFilter, or
// an error of package feature about the area.
func (q *Query) Prepare(s feature.Space) (*Prepared, error) { return q.prepare(s, compile) }

// Set is Prepare into memory that p has, with filters that a cache keeps: a query by
// box allocates nothing the second time. No other goroutine may use p meanwhile, and it
// must not be copied. After an error it is of no use until the next Set.
func (p *Prepared) Set(q *Query, s feature.Space, filters *filter.Cache) error {
	return p.set(q, s, filters.Compile)
}

// Forget lets go of the query, and keeps memory for the next Set.
func (p *Prepared) Forget() { p.Query, p.area, p.filter = Query{}, nil, nil }

func compile(expr string) (*filter.Program, error) { return filter.Compile(expr, filter.Options{}) }

func (q *Query) prepare(s feature.Space, compile func(string) (*filter.Program, error)) (*Prepared, error) {
	p := new(Prepared)
	if err := p.set(q, s, compile); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Prepared) set(q *Query, s feature.Space, compile func(string) (*filter.Program, error)) (err error) {
	p.Query, p.area, p.filter, p.boxes = *q, nil, nil, p.boxes[:0]
	switch {
	case q.Limit < 0:
		return fmt.Errorf("%w: limit %d, want 0 or more", ErrQuery, q.Limit)
	case q.Order > ByID:
		return fmt.Errorf("%w: order %d", ErrQuery, q.Order)
	case q.After != "" && q.Order != ByID:
		return fmt.Errorf("%w: a cursor of an answer without order", ErrQuery)
	case q.Count && (q.Order != ByID || q.Area == nil):
		return fmt.Errorf("%w: only an order by id in an area is counted", ErrQuery)
	case q.Sample != nil && (q.Order == ByID || q.Area == nil):
		return fmt.Errorf("%w: only a search without order in an area is sampled", ErrQuery)
	case q.Nowhere && s != feature.Geographic:
		return fmt.Errorf("%w: features without a geometry in an area of a %v space", ErrQuery, s)
	case q.Relation > feature.Contains:
		return fmt.Errorf("%w: relation %d", ErrQuery, q.Relation)
	}
	if err := checkFields(&q.Fields); err != nil {
		return err
	}
	if q.Area != nil {
		if p.box == nil {
			p.box = new(feature.Query)
		}
		if p.area, err = q.Area.prepare(p.box, s, q.Relation); err != nil {
			return fmt.Errorf("%w: area: %w", ErrQuery, err)
		}
		for _, b := range p.area.Boxes() {
			p.boxes = append(p.boxes, rstar.Rect(b))
		}
	}
	if q.Filter != "" {
		if p.filter, err = compile(q.Filter); err != nil {
			return fmt.Errorf("%w: %w", ErrQuery, err)
		}
	}
	return nil
}

// Boxes returns the boxes to search for in the tree, none for everything.
func (p *Prepared) Boxes() []rstar.Rect { return p.boxes }

// Match decides about a feature.
func (p *Prepared) Match(f *Found) (bool, error) { return p.MatchIn(f, nil) }

// MatchIn is Match in steps, if geometries are large (feature.Query.MatchIn) or the
// filter takes long (filter.Program.MatchIn).
func (p *Prepared) MatchIn(f *Found, s *feature.Steps) (bool, error) {
	if ok, err := p.inArea(f, s); !ok || err != nil {
		return false, err
	}
	if p.filter == nil && p.Where == nil {
		return true, nil
	}
	var steps filter.Stepper
	if s != nil {
		steps = s
	}
	in := filter.Input{
		ID: f.ID, Type: typeOf(&f.View), Properties: f.View.Properties(),
		Revision: f.Revision, Expires: f.Expires(), Now: time.Unix(0, int64(f.Now)), View: &f.View,
	}
	if p.filter != nil {
		if ok, err := p.filter.MatchIn(in, steps); !ok || err != nil || p.Where == nil {
			return ok, err
		}
	}
	return p.Where.MatchIn(in, steps)
}

// inArea decides about the area alone.
func (p *Prepared) inArea(f *Found, s *feature.Steps) (bool, error) {
	if p.area == nil || p.Nowhere && f.View.Type() == feature.None {
		return true, nil
	}
	return p.area.MatchIn(&f.View, s)
}

func typeOf(v *feature.View) string {
	if v.Type() == feature.None {
		return ""
	}
	return v.Type().String()
}

// Found is a feature that a search has found, in bytes that are valid for as long as
// the search says.
type Found struct {
	ID       []byte
	View     feature.View
	Value    []byte // of the record: what View looks into
	Revision uint64
	Expiry   time.Duration // since the Unix epoch; 0: never
	Now      time.Duration // when it was found
	Distance float64       // of a nearest feature
}

// Expires is Expiry as a time, zero for never.
func (f *Found) Expires() time.Time {
	if f.Expiry == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(f.Expiry))
}
