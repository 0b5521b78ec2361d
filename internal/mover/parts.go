package mover

import (
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
)

// parts is a set of slots and ranges of boxes. A nil one is empty, and is not added to.
type parts map[placement.Part]bool

func setOf(all []placement.Part) parts {
	s := parts{}
	for _, p := range all {
		s[p] = true
	}
	return s
}

// with is what is in either.
func (s parts) with(o parts) parts {
	both := make(parts, len(s)+len(o))
	for _, of := range []parts{s, o} {
		for p := range of {
			both[p] = true
		}
	}
	return both
}

// ranges are the parts of boxes.
func (s parts) ranges() (all []placement.Part) {
	for p := range s {
		if p.Collection != "" {
			all = append(all, p)
		}
	}
	return all
}

// slots are the others.
func (s parts) slots() (set store.SlotSet) {
	for p := range s {
		if p.Collection == "" {
			set.Add(p.Slot)
		}
	}
	return set
}

// of is what the store calls them. A range that moves has the same positions in all maps.
func (s parts) of(is *placement.Map) (p store.Parts, err error) {
	p.SlotSet = s.slots()
	for _, r := range s.ranges() {
		if err := p.AddRange(is, r, false); err != nil {
			return p, err
		}
	}
	return p, nil
}

// othersOf are all parts of other groups. Of their boxes only copies that a move has left are meant: a
// move that gives others away drops them itself.
func othersOf(is *placement.Map, me placement.Index) (p store.Parts, err error) {
	for slot, of := range is.Slots {
		if of != me {
			p.Add(uint16(slot))
		}
	}
	for _, r := range is.RangesOfOthers(me) {
		if err := p.AddRange(is, r, true); err != nil {
			return p, err
		}
	}
	return p, nil
}
