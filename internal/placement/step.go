package placement

import "fmt"

// Step of a move.
//
//	step        until then                                  written by   ends when
//	Copy        the destination copies the part from the    destination  it has all as of a revision
//	            source's store
//	CatchUp     it applies the part's entries of the        source       little is missing; the source
//	            source's log                                             takes no write of the part and
//	                                                                     has committed all that it took
//	Freeze      it applies the rest, up to Move.Until       destination  its group has committed that
//	Wait        the source lets its read lease end          source       the lease surely has ended: Decide
//	Drop        the destination serves. The source keeps    source       they have ended, and the part
//	            what pointers with leases lead to                        is dropped
//
// Before Decide the source is the owner, and a crash leaves it the owner, or the move is
// undone; after it, the destination is, and the move is not undone.
type Step uint8

// The steps, in order.
const (
	Copy Step = iota
	CatchUp
	Freeze
	Wait
	Drop
)

// Recovery is what a new primary of the source or destination does about a step.
type Recovery uint8

const (
	// Restart: the destination drops its data of the part, and begins to copy.
	Restart Recovery = iota
	// Resume from what the map and the group's log say. A new primary of the destination
	// that cannot, since the source's log does not go back to its revision, asks for Recopy
	// at CatchUp, for Undo later. A new primary of the source takes no write of a frozen
	// part, and waits for a whole lease from its promotion at Wait.
	Resume
)

// steps are the facts of each step.
var steps = [...]struct {
	name     string
	bySource bool // whose primary writes the next step
	frozen   bool // no group takes writes
	undone   bool // may be
	after    Recovery
}{
	Copy:    {name: "copy", undone: true, after: Restart},
	CatchUp: {name: "catch up", bySource: true, undone: true, after: Resume},
	Freeze:  {name: "freeze", frozen: true, undone: true, after: Resume},
	Wait:    {name: "wait", bySource: true, frozen: true, undone: true, after: Resume},
	Drop:    {name: "drop", bySource: true, after: Resume},
}

// String returns the name.
func (s Step) String() string {
	if int(s) < len(steps) {
		return steps[s].name
	}
	return fmt.Sprintf("step %d", uint8(s))
}

// BySource reports whether the source's primary writes what follows the step, or the
// destination's.
func (s Step) BySource() bool { return steps[s].bySource }

// Frozen reports whether no group takes writes of the part.
func (s Step) Frozen() bool { return steps[s].frozen }

// Undoable reports whether the move may end without a change of the owner.
func (s Step) Undoable() bool { return steps[s].undone }

// After returns what a new primary does.
func (s Step) After() Recovery { return steps[s].after }
