package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// Boxes of one of several groups
//
// Kept boxes of collections that the map places belong to groups by ranges, as ids do by slots
// (slots.go). They are judged and moved as ids are, and differ in this:
//
//	hidden     the tree finds only what the store owns (rstar.Tree.Show). Readers of its memory find
//	           all, so clients get no leases while there may be boxes of others (HidesBoxes). A
//	           search by message counts if MayReadAll holds before and after it
//	copies     have a mark in the directory, until they are written again: what an undone move has
//	           left is dropped by that. Other boxes are dropped by the move that gives them away
//	secondary  answers nothing about boxes, so it takes each map at once

// Range is a part of a collection of boxes: those whose centres are at positions from First to Last.
type Range struct {
	Collection  string
	World       rstar.Rect
	First, Last uint64
	// Copies: only those that a move has put there.
	Copies bool
}

// Parts are slots, and ranges of boxes.
type Parts struct {
	SlotSet
	Ranges []Range
}

// AddRange adds a range of a map.
func (p *Parts) AddRange(m *placement.Map, part placement.Part, copies bool) error {
	world, first, last, err := m.Span(part)
	if err == nil {
		p.Ranges = append(p.Ranges, Range{part.Collection, world, first, last, copies})
	}
	return err
}

// of reports whether there may be something of a collection.
func (p *Parts) of(e *Entry) bool {
	if e.Boxes != nil {
		return slices.ContainsFunc(p.Ranges, func(r Range) bool { return r.Collection == e.Name })
	}
	return e.slotted() != nil && p.SlotSet != SlotSet{}
}

// hasKey reports whether a key of a collection is in one of the parts. value is that of a box, nil: it does not count.
func (p *Parts) hasKey(e *Entry, key, value []byte) (bool, error) {
	if e.Boxes == nil {
		return p.has(key), nil
	}
	it, _, err := parseBox(key, oneCopy[:])
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(p.Ranges, func(r Range) bool {
		if r.Collection != e.Name || r.Copies && !isCopy(value) {
			return false
		}
		at := placement.Position(r.World, it.Rect)
		return r.First <= at && at <= r.Last
	}), nil
}

// hasEntry is hasKey of an entry of the log.
func (p *Parts) hasEntry(e *Entry, n *disk.Entry) (bool, error) {
	if n.Flags&boxFlag != 0 {
		if e.Boxes == nil {
			return false, nil
		}
		return p.hasKey(e, n.Key, nil)
	}
	slot, ok := SlotOfEntry(n)
	return ok && p.Has(slot), nil
}

// ownsBox reports whether a box is the store's own by the map: all are that the map does not place.
func (s *slots) ownsBox(collection string, r rstar.Rect) bool {
	if s == nil || s.Places == nil {
		return true
	}
	has, _, err := s.Places.OfBox(collection, r)
	return err != nil || has == s.Group
}

// mayWriteBox judges the write of a box, in the commit leader.
func (st *Store) mayWriteBox(w *write, r rstar.Rect, isNew bool) error {
	s := st.owned.Load()
	if s == nil || s.Places == nil {
		if w.moved {
			return fmt.Errorf("%w: %q: there is no map", ErrUnknownCollection, w.id)
		}
		return nil
	}
	has, part, err := s.Places.OfBox(w.id, r)
	switch owned := err == nil && has == s.Group; {
	case w.moved && errors.Is(err, placement.ErrUnknown):
		return fmt.Errorf("%w: %w", ErrUnknownCollection, err)
	case errors.Is(err, placement.ErrUnknown):
		return fmt.Errorf("%w: %w", fault.ErrMoved, err)
	case err != nil:
		return err
	case w.moved && owned:
		return fmt.Errorf("%w: %v", ErrOwned, part)
	case w.moved && w.may != nil:
		return w.may()
	case w.moved:
		return nil
	case !owned:
		return fmt.Errorf("%w: %v, by the map of epoch %d", fault.ErrMoved, part, s.Epoch)
	case slices.Contains(s.FrozenRanges, part) || slices.Contains(s.ClosedRanges, part):
		return fmt.Errorf("%w: %v", errClosed, part)
	case !isNew:
		return nil
	}
	if err = s.Places.FitsBox(w.id, r); errors.Is(err, placement.ErrBounds) {
		err = fmt.Errorf("%w: %w", rstar.ErrBadRect, err)
	}
	return err
}

// mayWriteBoxes is mayWriteBox of all boxes of a write.
func (st *Store) mayWriteBoxes(w *write) error {
	for _, it := range w.box.out {
		if err := st.mayWriteBox(w, it.Rect, false); err != nil {
			return err
		}
	}
	for _, it := range w.box.in {
		if err := st.mayWriteBox(w, it.Rect, true); err != nil {
			return err
		}
	}
	for _, n := range w.box.set {
		if err := st.mayWriteBox(w, n.Rect, false); err != nil {
			return err
		}
	}
	return nil
}

// From HideBoxes on searches look at each box that they find, before one of others is published. When it
// returns, HidesBoxes is true until Settle.
func (st *Store) HideBoxes() error {
	return st.runAlone(func() error {
		st.hideBoxes()
		return nil
	})
}

// HidesBoxes reports whether there may be boxes of others, which only messages leave out.
func (st *Store) HidesBoxes() bool {
	s := st.owned.Load()
	return s != nil && s.hidesBoxes
}

// hideBoxes is HideBoxes in the commit leader.
func (st *Store) hideBoxes() {
	st.hidden++
	if s := st.owned.Load(); s != nil && !s.hidesBoxes {
		now := *s
		now.hidesBoxes = true
		st.owned.Store(&now)
	}
}

// showOwn has the tree of a collection leave out kept boxes of others, once there may be some. It looks at the map of
// the moment: a search that meets two of them does not count (MayReadAll).
func (st *Store) showOwn(e *Entry) {
	if e.Boxes != nil {
		name := e.Name
		e.Tree.Show(func(r rstar.Rect) bool {
			s := st.owned.Load()
			return s == nil || !s.hidesBoxes || s.ownsBox(name, r)
		})
	}
}

// applyBox is applySlot of an entry of boxes. They are hidden, and not refused: no secondary answers
// about boxes.
func (st *Store) applyBox(e *disk.Entry, of *Entry) error {
	s := st.owned.Load()
	if e.Flags&movedFlag != 0 {
		return st.prepareMovedBox()
	}
	if of == nil || of.Boxes == nil || s == nil || s.hidesBoxes || s.Places == nil {
		return nil
	}
	n, err := boxCountOf(e)
	if err == nil && !s.ownsBox(of.Name, n.Rect) {
		st.hideBoxes() // The primary has an older map.
	}
	return err
}

// prepareMovedBox is prepareMoved of an entry of boxes.
func (st *Store) prepareMovedBox() error {
	if s := st.owned.Load(); s == nil || !s.hidesBoxes {
		st.hideBoxes()
	} else {
		st.hidden++
	}
	return st.db.Require(slotsFormat)
}

// MayReadAll is an error that wraps fault.ErrMoved unless requests of many ids, or of boxes, that were made by
// the map of an epoch count now.
func (st *Store) MayReadAll(epoch uint64) error {
	r, err := st.readAll()
	if err == nil && r.epoch != 0 && r.epoch != epoch {
		err = fmt.Errorf("%w: the request is by the map of epoch %d, the store's is of epoch %d", fault.ErrMoved, epoch, r.epoch)
	}
	return err
}

// MovesBoxes is an error if the boxes of a collection are in memory alone: no move could copy them.
func (st *Store) MovesBoxes(collection string) error {
	e := st.named(collection)
	if e == nil || e.Kind != KindBoxes || e.Boxes != nil {
		return nil
	}
	return fmt.Errorf("%w: the boxes of %q are in memory alone, and their ranges do not move", fault.ErrNotPermitted, collection)
}
