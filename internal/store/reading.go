package store

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/replica"
)

// Reads of a member of a group
//
// A primary that was stopped, and continues, does not know yet that there is another one. So
// a read counts only if afterwards the member's lease holds (replica.Lease.Covers):
//
//	r := st.Reading(AtPrimary)   the term of the lease is noted
//	...                          values are read
//	r.Err()                      the lease is looked at
//	...                          the answer is sent
//
// Each door of a server does that in one place: messages in package catfish/server, HTTP in
// internal/web, gRPC in api. A store in no group pays for it by looking at a bool.

// ReadMode is whose reads are answered.
type ReadMode uint8

const (
	// AtPrimary is for callers who want all that was acknowledged before they asked.
	AtPrimary ReadMode = iota
	// AtInSync is for callers who accept what was so up to the group's lease ago. A secondary
	// answers, too, unless it has lost touch.
	AtInSync
	// AtAny is for callers who ask the member that they name. A primary answers as with
	// AtPrimary, and another member with all that it has.
	AtAny
)

// Reading is a read in a group. The zero value is one in no group.
type Reading struct {
	of   *Store // nil: it need not be looked at
	term uint64
}

// Reading begins a read.
func (st *Store) Reading(mode ReadMode) Reading {
	if st == nil || !st.o.Replicated {
		return Reading{}
	}
	term := st.lease().Term
	secondary := term == 0 || term&replica.OfSecondary != 0
	switch {
	case mode == AtAny && secondary:
		return Reading{}
	case mode == AtPrimary && secondary:
		term = 0
	}
	return Reading{st, term}
}

// Err is called when the values were read. ErrNotPrimary: they may be old.
func (r Reading) Err() error {
	if r.of == nil || r.of.lease().Covers(r.term, boottime.Now()) {
		return nil
	}
	return fmt.Errorf("%w, or cut off from the others: what was read may be old", fault.ErrNotPrimary)
}

// lease is until when this member may be read; term 0: it is starting, or may not.
func (st *Store) lease() (l replica.Lease) {
	if g := st.group.Load(); g != nil {
		l = (*g).Lease()
	}
	return l
}

// Standing is what a member says of itself to readers.
type Standing struct {
	Lease replica.Lease
	// Revision is that of the last write that readers may see, End the last of the group's
	// log as far as this member knows: at a primary, no member shows more.
	Revision, End uint64
}

// Standing returns that of a member of a group; ok is false if it is none.
func (st *Store) Standing() (s Standing, ok bool) {
	g := st.group.Load()
	if g == nil {
		return s, false
	}
	return Standing{Lease: (*g).Lease(), End: (*g).End(), Revision: st.Revision()}, true
}
