package store

import (
	"cmp"
	"fmt"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/query"
)

// result is an Event, or why it could not be made.
type result struct {
	Event
	area *area
	err  error
}

// compareResults: features leave an area before they enter another.
func compareResults(a, b result) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Name, b.Name))
}

func (r *result) rank() int {
	if r.Kind == query.Exit {
		return 0
	}
	return 1
}

// event is what a change means for an area, Progress if nothing.
func (c *change) event(a *area, s *feature.Steps) (r result) {
	r = result{area: a, Event: Event{Name: a.name, ID: c.id, Revision: c.revision, Resume: c.revision, New: c.now, Old: c.old}}
	before, _, err := a.match(c.old, s)
	if err == nil {
		var after, inArea bool
		after, inArea, err = a.match(c.now, s)
		switch {
		case after && !before:
			r.Kind = query.Enter
		case after && c.now.View.SameGeometry(&c.old.View):
			r.Kind = query.Changed
		case after:
			r.Kind = query.Inside
		case before:
			r.Kind, r.Why = query.Exit, c.why(inArea)
		}
	}
	if err != nil {
		r.err = fmt.Errorf("store: area %q: revision %d of %q: %w", a.name, c.revision, c.id, err)
	}
	return r
}

func (c *change) why(inArea bool) Why {
	switch {
	case c.expired:
		return query.Expired
	case c.now == nil:
		return query.Deleted
	case inArea:
		return query.Filtered
	}
	return query.Moved
}

// match reports whether a feature matches, and whether it lies in the area.
func (a *area) match(f *Found, s *feature.Steps) (ok, inArea bool, err error) {
	if f == nil {
		return false, false, nil
	}
	if ok, err = a.p.MatchIn(f, s); ok || err != nil {
		return ok, ok, err
	}
	inArea, err = a.p.InArea(f, s)
	return false, inArea, err
}
