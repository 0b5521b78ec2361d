package query

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
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

// Prepared is a Query for a space, ready for any number of features. It is safe
// for concurrent use.
type Prepared struct {
	Query
	area   *feature.Query  // nil: everywhere
	filter *filter.Program // nil: none
	boxes  []rstar.Rect    // what to search for in the tree
	box    *feature.Query  // memory for area
}

// Filters compile the text of filters. A *filter.Cache is one.
type Filters interface {
	Compile(text string) (*filter.Program, error)
}

// Prepare checks and compiles a query. Errors wrap fault.ErrQuery, filter.ErrFilter, or
// an error of package feature about the area.
func (q *Query) Prepare(s feature.Space, filters Filters) (*Prepared, error) {
	p := new(Prepared)
	if err := p.Set(q, s, filters); err != nil {
		return nil, err
	}
	return p, nil
}

// Set is Prepare into memory that p has, with filters that a cache keeps: a query by
// box allocates nothing the second time. No other goroutine may use p meanwhile, and it
// must not be copied. After an error it is of no use until the next Set.
func (p *Prepared) Set(q *Query, s feature.Space, filters Filters) (err error) {
	p.Query, p.area, p.filter, p.boxes = *q, nil, q.Where, p.boxes[:0]
	switch {
	case q.Limit < 0:
		return fmt.Errorf("%w: limit %d, want 0 or more", fault.ErrQuery, q.Limit)
	case q.Order > ByID:
		return fmt.Errorf("%w: order %d", fault.ErrQuery, q.Order)
	case q.After != "" && q.Order != ByID:
		return fmt.Errorf("%w: a cursor of an answer without order", fault.ErrQuery)
	case q.Count && (q.Order != ByID || q.Area == nil):
		return fmt.Errorf("%w: only an order by id in an area is counted", fault.ErrQuery)
	case q.Sample != nil && (q.Order == ByID || q.Area == nil):
		return fmt.Errorf("%w: only a search without order in an area is sampled", fault.ErrQuery)
	case q.Nowhere && s != feature.Geographic:
		return fmt.Errorf("%w: features without a geometry in an area of a %v space", fault.ErrQuery, s)
	case q.Relation > feature.Contains:
		return fmt.Errorf("%w: relation %d", fault.ErrQuery, q.Relation)
	}
	if err := checkFields(&q.Fields); err != nil {
		return err
	}
	if q.Area != nil {
		if p.box == nil {
			p.box = new(feature.Query)
		}
		if p.area, err = q.Area.prepare(p.box, s, q.Relation); err != nil {
			return fmt.Errorf("%w: area: %w", fault.ErrQuery, err)
		}
		for _, b := range p.area.Boxes() {
			p.boxes = append(p.boxes, rstar.Rect(b))
		}
	}
	if q.Filter != "" {
		f, err := filters.Compile(q.Filter)
		if err != nil {
			return fmt.Errorf("%w: %w", fault.ErrQuery, err)
		}
		p.filter = f.And(q.Where)
	}
	return nil
}

// Forget lets go of the query, and keeps memory for the next Set.
func (p *Prepared) Forget() { p.Query, p.area, p.filter = Query{}, nil, nil }

// Boxes returns the boxes to search for in the tree, none for everything.
func (p *Prepared) Boxes() []rstar.Rect { return p.boxes }

// AddBox adds a box to search for.
func (p *Prepared) AddBox(b rstar.Rect) { p.boxes = append(p.boxes, b) }

// Everywhere reports whether there is no area.
func (p *Prepared) Everywhere() bool { return p.area == nil }

// SetArea replaces the area alone, by one that is prepared already.
func (p *Prepared) SetArea(a *feature.Query) { p.area = a }

// SetFilter replaces the filter alone; nil: none.
func (p *Prepared) SetFilter(f *filter.Program) { p.filter = f }

// Match decides about a feature.
func (p *Prepared) Match(f *Found) (bool, error) { return p.MatchIn(f, nil) }

// MatchIn is Match in steps, if geometries are large (feature.Query.MatchIn) or the
// filter takes long (filter.Program.MatchIn).
func (p *Prepared) MatchIn(f *Found, s *feature.Steps) (bool, error) {
	if ok, err := p.InArea(f, s); !ok || err != nil {
		return false, err
	}
	if p.filter == nil {
		return true, nil
	}
	var steps filter.Stepper
	if s != nil {
		steps = s
	}
	return p.filter.MatchIn(filter.Input{
		ID: f.ID, Type: typeOf(&f.View), Properties: f.View.Properties(),
		Revision: f.Revision, Expires: f.Expires(), Now: time.Unix(0, int64(f.Now)), View: &f.View,
	}, steps)
}

// InArea decides about the area alone.
func (p *Prepared) InArea(f *Found, s *feature.Steps) (bool, error) {
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
