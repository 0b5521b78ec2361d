package store

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// A store of one of several groups (docs/decisions/many-groups.md)
//
// SetSlots gives a store its slots, after each change again. Before the first call it has all,
// and none of this costs anything.
//
//	           get        search, scan   write      CopyIn, DropSlots
//	owned      yes        yes            yes        ErrOwned
//	frozen     yes        yes            ErrMoved   ErrOwned
//	closed     ErrMoved   ErrMoved       ErrMoved   ErrOwned
//	other's    ErrMoved   hidden         ErrMoved   yes
//
// ErrMoved has a client ask for the map, and make the request again. A slot is frozen or
// closed for some milliseconds, until its owner is decided: until then the map is the same,
// and so is the answer.
//
// Ids of slots that other groups have are copies of a move, or wait to be dropped.
// While there may be some (hides), readers take the slot of each feature that they find.
// The leader sets that before the first such id is published, so that no reader meets it
// before; Settle ends it.
//
// A read of one id is judged after the value was read: the store had the slot then, and the
// value is not older than the call. A read of many ids notes the epoch before and after,
// and fails if it has changed.

// SlotSet is a set of slots. The zero value is empty.
type SlotSet [placement.Slots / 64]uint64

// AllSlots returns the set of all slots.
func AllSlots() (s SlotSet) { return s.others() }

// Has reports whether a slot is in the set.
func (s *SlotSet) Has(slot uint16) bool { return s[slot/64]>>(slot%64)&1 != 0 }

// Add adds a slot.
func (s *SlotSet) Add(slot uint16) { s[slot/64] |= 1 << (slot % 64) }

// Remove removes a slot.
func (s *SlotSet) Remove(slot uint16) { s[slot/64] &^= 1 << (slot % 64) }

// Len is the number of slots in the set.
func (s *SlotSet) Len() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// has reports whether an id's slot is in the set.
func (s *SlotSet) has(id []byte) bool { return s.Has(placement.SlotOf(id)) }

// others returns the slots that are not in the set.
func (s *SlotSet) others() (o SlotSet) {
	for i, w := range s {
		o[i] = ^w
	}
	return o
}

// without returns the slots that are not in another set.
func (s *SlotSet) without(o *SlotSet) (left SlotSet) {
	for i, w := range s {
		left[i] = w &^ o[i]
	}
	return left
}

// Slots says which slots a store has.
type Slots struct {
	// Epoch is that of the map, from 1: it grows when a slot gets another owner, in any
	// group.
	Epoch uint64
	Owned SlotSet
	// Frozen are slots of Owned that are not written, and Closed those that are not read,
	// either.
	Frozen, Closed SlotSet
	// Places says which boxes the store has, those of Group; nil: all.
	Places *placement.Map
	Group  placement.Index
	// FrozenRanges and ClosedRanges are of boxes, as Frozen and Closed are of ids.
	FrozenRanges, ClosedRanges []placement.Part
	// Moving: parts of this group, or to it, move. Collections are not dropped, nor swapped:
	// copies name them.
	Moving bool
}

// slots are Slots as readers and the commit leader use them. They do not change.
type slots struct {
	Slots       // less what applySlot has taken away
	given Slots // by SetSlots
	hides bool  // there may be ids of others' slots
	// hidesBoxes: there may be boxes of others' ranges.
	hidesBoxes bool
	closes     bool   // reads of many ids are refused
	turn       uint64 // counts changes of Owned
}

// ErrOwned: a move has written to a slot that is the store's own, by its map.
var ErrOwned = errors.New("store: a move wrote to a slot that the store has")

// errClosed: the owner of a slot is not decided yet.
var errClosed = fmt.Errorf("%w: its slot moves to another group now; nothing was done", fault.ErrMoved)

// still is an error that wraps fault.ErrBusy while slots move.
func (st *Store) still() error {
	if s := st.owned.Load(); s != nil && s.Moving {
		return fmt.Errorf("%w: parts of the store move between groups; drop or swap collections when they have moved", fault.ErrBusy)
	}
	return nil
}

// validate returns an error that wraps ErrOptions.
func (s *Slots) validate() error {
	if s.Epoch == 0 {
		return fmt.Errorf("%w: slots of epoch 0, want 1 or more", ErrOptions)
	}
	for what, set := range map[string]*SlotSet{"frozen": &s.Frozen, "closed": &s.Closed} {
		if left := set.without(&s.Owned); left != (SlotSet{}) {
			return fmt.Errorf("%w: %d slots are %s, and not owned", ErrOptions, left.Len(), what)
		}
	}
	return nil
}

// SetSlots says which slots the store has from now on. When it returns, no write that was
// judged by the slots before is acknowledged any more, and each read that begins is
// judged by these. It waits for the writes in flight.
//
// A secondary gets the slots once it has applied all that its primary had at that change:
// earlier it would lack copies. Later does no harm: it refuses reads from the first entry of
// the move on. One that starts has the latest map and an old log; after that it needs Retake.
//
// ErrOptions: the epoch is below the one before, or the same with other slots; or a slot
// that is frozen or closed is not owned. ErrClosed, disk.ErrReadOnly. Then nothing has
// changed.
func (st *Store) SetSlots(s Slots) error {
	if err := s.validate(); err != nil {
		return err
	}
	return st.runAlone(func() error {
		now := &slots{Slots: s, given: s, closes: s.Closed != SlotSet{} || len(s.ClosedRanges) > 0, turn: 1}
		has, places, group := AllSlots(), (*placement.Map)(nil), s.Group
		if before := st.owned.Load(); before == nil {
			st.asked.reset()
		} else {
			switch same := before.Owned == s.Owned; {
			case s.Epoch < before.Epoch:
				return fmt.Errorf("%w: slots of epoch %d, and the store has those of %d", ErrOptions, s.Epoch, before.Epoch)
			case s.Epoch == before.Epoch && before.given.Owned != s.Owned:
				return fmt.Errorf("%w: other slots than before, of the same epoch %d", ErrOptions, s.Epoch)
			case same:
				now.turn = before.turn
			default:
				now.turn = before.turn + 1
			}
			has, now.hides, now.hidesBoxes = before.given.Owned, before.hides, before.hidesBoxes
			if before.Places != nil {
				places, group = before.Places, before.Group
			}
		}
		if has.without(&s.Owned) != (SlotSet{}) {
			st.hidden++
			now.hides = true
		}
		if s.Places != nil && places.LosesBoxes(group, s.Places, s.Group) {
			st.hidden++
			now.hidesBoxes = true
		}
		if st.owned.Swap(now) == nil {
			for _, e := range st.All() {
				st.showOwn(e)
			}
		}
		return nil
	})
}

// Taken reports whether a secondary refuses slots that SetSlots has given it, since entries of a move
// wrote to them.
func (st *Store) Taken() bool {
	s := st.owned.Load()
	return s != nil && s.Owned != s.given.Owned
}

// Retake gives these back: the caller knows that the store has applied all that its primary
// had when a map was read that is of the epoch still, so the entries were of moves before it.
func (st *Store) Retake() error {
	return st.runAlone(func() error {
		if !st.Taken() {
			return nil
		}
		now := *st.owned.Load()
		now.Slots, now.closes = now.given, now.given.Closed != SlotSet{} || len(now.given.ClosedRanges) > 0
		now.turn++
		st.owned.Store(&now)
		return nil
	})
}

// Slots returns those that were set last; ok is false if the store has all.
//
// A request of many ids from a client with another map is to be refused: by the epoch,
// which is looked at before the first value is read, and after the last one.
func (st *Store) Slots() (s Slots, ok bool) {
	if now := st.owned.Load(); now != nil {
		return now.Slots, true
	}
	return s, false
}

// Epoch is that of Slots, 0 if the store has all.
func (st *Store) Epoch() uint64 {
	if s := st.owned.Load(); s != nil {
		return s.Epoch
	}
	return 0
}

// hide makes readers look for ids of others' slots, before one is published. The commit
// leader calls it.
func (st *Store) hide() {
	st.hidden++
	if s := st.owned.Load(); s != nil && !s.hides {
		now := *s
		now.hides = true
		st.owned.Store(&now)
	}
}

// hidesID reports whether readers do not see an id.
func (s *slots) hidesID(id []byte) bool { return s != nil && s.hides && !s.Owned.has(id) }

// applySlot is called before an entry of the group's log is applied. A move writes only to
// slots that the primary does not have: so this member, if it has the slot, has an old
// map, or has started with a later one than the log is at. It refuses to read the slot, and many ids,
// until it gets the next one, or Retake.
func (st *Store) applySlot(e *disk.Entry) error {
	s := st.owned.Load()
	moved := e.Flags&movedFlag != 0
	if s != nil && moved {
		if slot := placement.SlotOf(e.Key); s.Owned.Has(slot) {
			now := *s
			now.Owned.Remove(slot)
			now.Frozen.Remove(slot)
			now.Closed.Remove(slot)
			now.closes = true
			now.turn++
			st.owned.Store(&now)
		}
	}
	switch {
	case moved:
		return st.prepareMoved()
	case s != nil && e.Kind == disk.Put && !s.Owned.has(e.Key):
		st.hide() // The primary has an older map.
	}
	return nil
}

// mayWrite judges a write by its slot, in the commit leader.
func (st *Store) mayWrite(w *write) error {
	s := st.owned.Load()
	if s == nil && !w.moved {
		return nil
	}
	slot := placement.SlotOf(w.key)
	switch owned := s == nil || s.Owned.Has(slot); {
	case w.moved && owned:
		return fmt.Errorf("%w: %d, of %q", ErrOwned, slot, w.id)
	case w.moved && w.may != nil:
		return w.may()
	case w.moved:
		return nil
	case !owned:
		return s.moved(slot, w.key)
	case s.Frozen.Has(slot) || s.Closed.Has(slot):
		return fmt.Errorf("%w: slot %d, of %q", errClosed, slot, w.id)
	}
	if w.expired == 0 {
		st.asked.count(slot)
	}
	return nil
}

func (s *slots) moved(slot uint16, id []byte) error {
	return fmt.Errorf("%w: slot %d of %q, by the map of epoch %d", fault.ErrMoved, slot, id, s.Epoch)
}

// mayRead judges a read of an id, after its value was read, and counts it.
func (st *Store) mayRead(id []byte) error {
	s := st.owned.Load()
	if s == nil {
		return nil
	}
	slot := placement.SlotOf(id)
	if err := s.mayRead(slot, id); err != nil {
		return err
	}
	st.asked.count(slot)
	return nil
}

// reads reports whether the store may read an id.
func (st *Store) reads(id string) bool {
	s, key := st.owned.Load(), []byte(id)
	return s == nil || s.mayRead(placement.SlotOf(key), key) == nil
}

func (s *slots) mayRead(slot uint16, id []byte) error {
	switch {
	case !s.Owned.Has(slot):
		return s.moved(slot, id)
	case s.Closed.Has(slot):
		return fmt.Errorf("%w: slot %d, of %q", errClosed, slot, id)
	}
	return nil
}

// allReading is a read of many ids.
type allReading struct {
	st    *Store
	epoch uint64
}

// readAll begins a read of many ids. An error wraps fault.ErrMoved.
func (st *Store) readAll() (r allReading, err error) {
	s := st.owned.Load()
	switch {
	case s == nil:
	case s.closes:
		return r, errClosed
	default:
		r.epoch = s.Epoch
	}
	r.st = st
	return r, nil
}

// end ends it with its own error, or says why it does not count.
func (r allReading) end(err error) error {
	if err != nil {
		return err
	}
	now, err := r.st.readAll()
	if err == nil && now.epoch != r.epoch {
		err = fmt.Errorf("%w: the map changed during the request, from epoch %d to %d", fault.ErrMoved, r.epoch, now.epoch)
	}
	return err
}

// MayRead is for a caller that has read a key of an entry's Records itself: why the value
// does not count. fault.ErrMoved: another group has it, or that is being decided.
func (e *Entry) MayRead(key []byte) error {
	if st := e.slotted(); st != nil {
		return st.mayRead(key)
	}
	return nil
}

// Hides reports whether a scan of an entry's Records leaves out a key.
func (e *Entry) Hides(key []byte) bool {
	st := e.slotted()
	return st != nil && st.owned.Load().hidesID(key)
}

// slotted returns the store of a collection whose ids have slots; nil: they have none.
func (e *Entry) slotted() *Store {
	switch {
	case e.Features != nil:
		return e.Features.st
	case e.Kept != nil:
		return e.Kept.st
	}
	return nil
}
