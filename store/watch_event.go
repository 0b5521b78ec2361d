package store

import (
	"cmp"
	"fmt"

	"github.com/catfish-index/catfish/feature"
)

// Event is what a write means for an area.
type Event struct {
	Kind EventKind
	// Why a feature left.
	Why      Why
	Name     string // of the area
	ID       string
	Revision uint64 // of the write; of a Progress: as Resume
	// Resume is WatchOptions.From with which all events after this one come, and no
	// other, except that the last ones of this write may come again if it concerns
	// several areas.
	Resume uint64
	// New is the feature after the write, nil if it was deleted, and Old before, nil if
	// it did not exist. They are shared: not to be changed.
	New, Old *Found
}

// EventKind says what happened to a feature.
type EventKind uint8

// Kinds. To match is to lie in the area as the query wants it, and to pass the filter.
// A filter's `now` is the time of the write, or of reading it from the log, so the
// passing of time makes no event.
const (
	// Progress: there was nothing else up to Resume.
	Progress EventKind = iota
	// Enter: it matches now, and did not before.
	Enter
	// Exit: it matched before, and does not now; see Why.
	Exit
	// Inside: it matches, as before, and its geometry has changed.
	Inside
	// Changed: it matches, as before, and was written with the same geometry.
	Changed
)

func (k EventKind) String() string {
	names := [...]string{"progress", "enter", "exit", "inside", "changed"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Why a feature left an area.
type Why uint8

// Reasons of an Exit.
const (
	NoReason Why = iota // of the other kinds
	// Moved: it is not in the area any more.
	Moved
	// Filtered: it is in the area, but does not pass the filter any more.
	Filtered
	// Deleted by a caller.
	Deleted
	// Expired: deleted after its time, as soon as the store was tidied.
	Expired
)

func (y Why) String() string {
	names := [...]string{"", "moved", "filtered", "deleted", "expired"}
	if int(y) < len(names) {
		return names[y]
	}
	return fmt.Sprintf("reason %d", uint8(y))
}

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
	if r.Kind == Exit {
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
			r.Kind = Enter
		case after && c.now.View.SameGeometry(&c.old.View):
			r.Kind = Changed
		case after:
			r.Kind = Inside
		case before:
			r.Kind, r.Why = Exit, c.why(inArea)
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
		return Expired
	case c.now == nil:
		return Deleted
	case inArea:
		return Filtered
	}
	return Moved
}

// match reports whether a feature matches, and whether it lies in the area.
func (a *area) match(f *Found, s *feature.Steps) (ok, inArea bool, err error) {
	if f == nil {
		return false, false, nil
	}
	if ok, err = a.p.MatchIn(f, s); ok || err != nil {
		return ok, ok, err
	}
	inArea, err = a.p.inArea(f, s)
	return false, inArea, err
}
