package placement

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/rstar"
)

// Part is a slot, or a range of a collection of boxes by its start.
type Part struct {
	Slot       uint16 `json:"slot,omitempty"`
	Collection string `json:"collection,omitempty"` // of boxes; empty: a slot
	Start      uint64 `json:"start,omitzero,string"`
}

// String names the part.
func (p Part) String() string {
	if p.Collection == "" {
		return fmt.Sprintf("slot %d", p.Slot)
	}
	return fmt.Sprintf("the range of %q at %d", p.Collection, p.Start)
}

// Move of a part from a group to another one.
type Move struct {
	Part
	From Index `json:"from"`
	To   Index `json:"to"`
	Step Step  `json:"step"`
	// Until is the revision of the source's log, committed, up to which the destination
	// needs the part's entries. Set from Freeze.
	Until uint64 `json:"until,omitzero,string"`
}

// owner returns where the map has the owner of a part. ErrUnknown. To change it, copy first.
func (m *Map) owner(p Part) (*Index, error) {
	if p.Collection != "" {
		curve, at, err := m.ranged(p.Collection, p.Start)
		if err != nil {
			return nil, err
		}
		return &m.Boxes[curve].Ranges[at].Group, nil
	}
	if p.Slot >= Slots {
		return nil, fmt.Errorf("%w: slot %d of %d", ErrUnknown, p.Slot, Slots)
	}
	return &m.Slots[p.Slot], nil
}

// Owner is the group that has a part. ErrUnknown.
func (m *Map) Owner(p Part) (Index, error) {
	g, err := m.owner(p)
	if err != nil {
		return 0, err
	}
	return *g, nil
}

// moving returns the number of the part's move, -1: it does not move.
func (m *Map) moving(p Part) int {
	return slices.IndexFunc(m.Moves, func(v Move) bool { return v.Part == p })
}

// Idle reports whether a part does not move.
func (m *Map) Idle(p Part) bool { return m.moving(p) < 0 }

// still is ErrBusy if the part moves.
func (m *Map) still(p Part) error {
	if i := m.moving(p); i >= 0 {
		return fmt.Errorf("%w: %v moves to %q (%v)", ErrBusy, p, m.Groups[m.Moves[i].To].Name, m.Moves[i].Step)
	}
	return nil
}

// Begin returns the map with more moves, at Copy. The destination first drops what an
// earlier move that was undone has left there.
func (m *Map) Begin(moves ...Move) (*Map, error) {
	n := m.next()
	n.Moves = slices.Clone(m.Moves)
	for _, v := range moves {
		if v.Step != Copy || v.Until != 0 {
			return nil, fmt.Errorf("%w: the move of %v begins at %v", ErrStep, v.Part, v.Step)
		}
		if err := n.still(v.Part); err != nil {
			return nil, err
		}
		n.Moves = append(n.Moves, v)
	}
	return n.checked()
}

// at returns the number of a part's move that is at a step. ErrUnknown, ErrStep.
func (m *Map) at(p Part, s Step) (int, error) {
	i := m.moving(p)
	if i < 0 {
		return 0, fmt.Errorf("%w: %v does not move", ErrUnknown, p)
	}
	if has := m.Moves[i].Step; has != s {
		return 0, fmt.Errorf("%w: the move of %v is at %v, not at %v", ErrStep, p, has, s)
	}
	return i, nil
}

// step returns the map in which a part's move has gone from a step to another one.
func (m *Map) step(p Part, from, to Step) (*Map, error) {
	i, err := m.at(p, from)
	if err != nil {
		return nil, err
	}
	n := m.next()
	n.Moves = m.movesToChange()
	n.Moves[i].Step = to
	return n, nil
}

// movesToChange are those of the next map.
func (m *Map) movesToChange() []Move {
	if m.batch {
		return m.Moves
	}
	return slices.Clone(m.Moves)
}

// Batch returns the next map, after steps of many moves. They are one version, and the map is copied once,
// and not for each: f calls methods of moves of the map that it gets, Copied to Undo, and
// each returns that one. After an error of f nothing is left of it; an error of a step alone changes nothing.
func (m *Map) Batch(f func(*Map) error) (*Map, error) {
	n := m.next()
	n.Moves = slices.Clone(m.Moves)
	n.batch = true
	err := f(n)
	n.batch = false
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Copied is written by the destination: its group has committed a copy, and its extents
// bound that.
func (m *Map) Copied(p Part) (*Map, error) { return m.step(p, Copy, CatchUp) }

// Recopy is written by the destination: it needs another copy.
func (m *Map) Recopy(p Part) (*Map, error) { return m.step(p, CatchUp, Copy) }

// Freeze is written by the source: it takes no write of the part from before it asks for
// this, and until is at least the revision of all that it took, which are committed. If the
// outcome is unknown it takes none until it has read a later version than it compared: the
// change may be made after any read of that one. Undo makes a later one.
func (m *Map) Freeze(p Part, until uint64) (*Map, error) {
	n, err := m.step(p, CatchUp, Freeze)
	if err != nil {
		return nil, err
	}
	n.Moves[n.moving(p)].Until = until
	return n, nil
}

// Received is written by the destination: its group has committed all up to until.
func (m *Map) Received(p Part) (*Map, error) { return m.step(p, Freeze, Wait) }

// Decide is written by the source, which answers no read of the part from before it asks
// for this, and whose lease has ended: the destination is the owner. After an unknown
// outcome it continues as after one of Freeze.
func (m *Map) Decide(p Part) (*Map, error) {
	n, err := m.step(p, Wait, Drop)
	if err != nil {
		return nil, err
	}
	if p.Collection != "" {
		curve, err := n.curve(p.Collection)
		if err != nil {
			return nil, err
		}
		n.ranges(curve)
	}
	owner, err := n.owner(p)
	if err != nil {
		return nil, err
	}
	*owner = n.Moves[n.moving(p)].To
	n.Epoch = n.Version
	return n, nil
}

// Dropped is written by the source: it has nothing of the part. The move ends.
func (m *Map) Dropped(p Part) (*Map, error) {
	i, err := m.at(p, Drop)
	if err != nil {
		return nil, err
	}
	return m.without(i), nil
}

// Undo returns the map without a move that is not decided: the source is the owner as
// before, and takes writes when it has read this map. Source, destination and an operator
// may write it at any time. ErrStep: it is decided.
func (m *Map) Undo(p Part) (*Map, error) {
	i := m.moving(p)
	if i < 0 {
		return nil, fmt.Errorf("%w: %v does not move", ErrUnknown, p)
	}
	if s := m.Moves[i].Step; !s.Undoable() {
		return nil, fmt.Errorf("%w: the move of %v is at %v, and not undone", ErrStep, p, s)
	}
	return m.without(i), nil
}

func (m *Map) without(move int) *Map {
	n := m.next()
	n.Moves = slices.Delete(m.movesToChange(), move, move+1)
	return n
}

// Takes is nil if a group takes a write of an id. ErrMoved names the group that has it.
// ErrFrozen: none takes it now.
func (m *Map) Takes(g Index, id []byte) error {
	s := SlotOf(id)
	return m.takes(g, m.Slots[s], Part{Slot: s})
}

// TakesBox is nil if a group takes a write of a box; its errors are those of Takes and
// OfBox.
func (m *Map) TakesBox(g Index, collection string, box rstar.Rect) error {
	has, part, err := m.OfBox(collection, box)
	if err != nil {
		return err
	}
	return m.takes(g, has, part)
}

func (m *Map) takes(g, has Index, p Part) error {
	if g != has {
		return fmt.Errorf("%w: %v is of group %q in map %d", ErrMoved, p, m.Groups[has].Name, m.Version)
	}
	if i := m.moving(p); i >= 0 && m.Moves[i].Step.Frozen() {
		return fmt.Errorf("%w: %v moves to %q in map %d", ErrFrozen, p, m.Groups[m.Moves[i].To].Name, m.Version)
	}
	return nil
}

// Keeps reports whether a group keeps its data of a part: it is the owner, or in a move of
// it. It drops all else, such as copies of a move that was undone. ErrUnknown.
func (m *Map) Keeps(g Index, p Part) (bool, error) {
	owner, err := m.owner(p)
	if err != nil {
		return false, err
	}
	if *owner == g {
		return true, nil
	}
	i := m.moving(p)
	return i >= 0 && (m.Moves[i].From == g || m.Moves[i].To == g), nil
}
