package record

import (
	"errors"
	"fmt"
)

// ErrStale is wrapped by ErrDead, ErrReused, ErrOtherKey and ErrTorn: the reference is
// no longer good. Look the key up again. Only a search that has just taken the
// reference from tree or index may use the View that comes with ErrDead.
var ErrStale = errors.New("record: stale reference")

// Reasons for a reference to be stale. They are returned as they are,
// because a client that keeps references meets them often.
var (
	ErrDead     = fmt.Errorf("%w: the record was replaced or deleted", ErrStale)
	ErrReused   = fmt.Errorf("%w: its place was used again", ErrStale)
	ErrOtherKey = fmt.Errorf("%w: the record has another key", ErrStale)
	ErrTorn     = fmt.Errorf("%w: the check sum does not fit", ErrStale)
)

// Errors of readers that a second lookup does not cure.
var (
	// ErrMalformed: no server that keeps to the layout writes such bytes.
	ErrMalformed = errors.New("record: malformed")
	// ErrRef: no heap of this size gives out such a reference.
	ErrRef = errors.New("record: bad reference")
	// ErrGrown, an ErrRef: the reference leads beyond the part of the slab that the
	// reader knows (Space.Bytes), so nothing was read. Ask the server for the size now,
	// and give up if it is no larger.
	ErrGrown = fmt.Errorf("%w: beyond the memory that is known", ErrRef)
)

// Errors of writers. Nothing was changed.
var (
	// ErrFull: no free place is left. Reclaim and Compact may make one; a
	// place of a dead record becomes free by time. If Options.Grow gave no
	// more memory, its error is wrapped, too.
	ErrFull     = errors.New("record: heap full")
	ErrTooLarge = errors.New("record: too large")
	ErrOptions  = errors.New("record: bad options")
)
