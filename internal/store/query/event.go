package query

import "fmt"

// Event is what a write means for an area.
type Event struct {
	Kind EventKind
	// Why a feature left.
	Why      Why
	Name     string // of the area
	ID       string
	Revision uint64 // of the write; of a Progress: as Resume
	// Resume is the From of WatchOptions with which all events after this one come, and no
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
