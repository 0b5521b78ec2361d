package query

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
)

// NearestQuery asks for the features around a point, in the order of their
// distance, then of their ids. At least one of K and Within is needed.
type NearestQuery struct {
	X, Y float64
	K    int // how many; 0: all within
	// Within is the greatest distance, in metres or the unit of a planar space;
	// 0: none.
	Within float64
	Filter string
	Where  *filter.Program   // as of a Query
	Fields feature.Selection // as of a Query
	Pace   func() error      // as of a Query
	Hold   func(bytes int64) error
}

// PreparedNearest is a NearestQuery for a space.
type PreparedNearest struct {
	NearestQuery
	space  feature.Space
	origin feature.Origin
	pass   Prepared // the filter
}

// MaxNearest is the greatest K.
const MaxNearest = 1 << 16

// Prepare checks and compiles a query.
func (q *NearestQuery) Prepare(s feature.Space, filters Filters) (*PreparedNearest, error) {
	p := new(PreparedNearest)
	if err := p.Set(q, s, filters); err != nil {
		return nil, err
	}
	return p, nil
}

// Set is Prepare into memory that p has: see Prepared.Set.
func (p *PreparedNearest) Set(q *NearestQuery, s feature.Space, filters Filters) (err error) {
	p.NearestQuery, p.space = *q, s
	switch {
	case q.K < 0 || q.K > MaxNearest:
		return fmt.Errorf("%w: k is %d, want 0 to %d", fault.ErrQuery, q.K, MaxNearest)
	case !(q.Within >= 0) || math.IsInf(q.Within, 1):
		return fmt.Errorf("%w: a greatest distance of %v", fault.ErrQuery, q.Within)
	case q.K == 0 && q.Within == 0:
		return fmt.Errorf("%w: neither k nor a greatest distance", fault.ErrQuery)
	}
	if err := checkFields(&q.Fields); err != nil {
		return err
	}
	if p.origin, err = feature.NewOrigin(s, orb.Point{q.X, q.Y}); err != nil {
		return fmt.Errorf("%w: %w", fault.ErrQuery, err)
	}
	return p.pass.Set(&Query{Filter: q.Filter, Where: q.Where}, s, filters)
}
