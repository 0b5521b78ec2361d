package replica

import (
	"fmt"
	"slices"
	"strings"
)

// Worlds that lead to the same worlds are one state: times count from now, and are cut
// where they make no difference any more, so that time may pass without a limit.
// TestOrder would notice if too much were cut.

// visited is a set of hashes, with open addressing: worlds are too many for a map.
type visited struct {
	slots []uint64
	n     int
}

func (v *visited) add(h uint64) bool {
	if h == 0 {
		h = 1
	}
	if 2*v.n >= len(v.slots) {
		old := v.slots
		v.slots, v.n = make([]uint64, max(1<<12, 2*len(old))), 0
		for _, h := range old {
			if h != 0 {
				v.add(h)
			}
		}
	}
	mask := uint64(len(v.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		switch v.slots[i] {
		case h:
			return false
		case 0:
			v.slots[i] = h
			v.n++
			return true
		}
	}
}

// found is what a search found.
type found struct {
	states, moves int
	pending       int // the most that waited at a time
	settled       int // states from which it was tried whether the group recovers
	made          [kinds]int
	cut           bool // there were more states than the search was allowed
	wrong         error
	path          []move
}

// search visits all states of a world, at most most. It stops at the first that is
// wrong. From one in settleEvery states it tries whether the group recovers. A deep
// search takes the latest state first, so that few wait; the other one takes the
// earliest, so that what it finds wrong took the fewest moves.
func search(l *limits, most, settleEvery int, deep bool) *found {
	type queued struct {
		w *world
		i int32
	}
	var (
		f       = &found{}
		seen    visited
		enc     encoder
		tried   scratch
		pending []queued
		parents []int32 // of each state, and the move that led to it
		moves   []move
	)
	visit := func(c *world, parent int32, mv move) {
		path := func(i int32, last ...move) {
			for ; i > 0; i = parents[i] {
				last = append(last, moves[i])
			}
			slices.Reverse(last)
			f.wrong, f.path = c.wrong, last
		}
		if c.wrong != nil {
			path(parent, mv)
			return
		}
		h := enc.hash(c)
		if !seen.add(h) {
			return
		}
		i := int32(len(parents))
		f.states++
		f.made[mv.kind]++
		parents, moves = append(parents, parent), append(moves, mv)
		if settleEvery > 0 && h%uint64(settleEvery) == 0 {
			f.settled++
			if c.wrong = c.recovers(); c.wrong != nil {
				path(i)
				return
			}
		}
		pending = append(pending, queued{c.keep(), i})
		f.pending = max(f.pending, len(pending))
	}
	visit(begin(l), -1, move{})
	for len(pending) > 0 && f.wrong == nil && !f.cut {
		at := 0
		if deep {
			at = len(pending) - 1
		}
		q := pending[at]
		pending[at] = queued{}
		if deep {
			pending = pending[:at]
		} else {
			pending = pending[1:]
		}
		q.w.forEach(func(mv move) {
			if f.wrong == nil {
				f.moves++
				visit(tried.try(q.w, mv), q.i, mv)
			}
		})
		f.cut = f.states > most
	}
	return f
}

// String describes how a search came to a wrong state.
func (f *found) String() string {
	var b strings.Builder
	for _, mv := range f.path {
		fmt.Fprintf(&b, "\t%v\n", mv)
	}
	fmt.Fprintf(&b, "%v", f.wrong)
	return b.String()
}

// recovers reports what keeps a group from making writes when all members run, no
// message is lost, and the store works.
func (w *world) recovers() error {
	l := *w.limits
	l.terms, l.versions, l.still = 90, 90, 0
	c := w.keep()
	c.limits = &l
	c.setTimes(stable, stable)
	c.left.losses, c.left.crashes = 0, 0
	for id := range ID(c.size()) {
		if !c.alive(id) {
			c.apply(move{kind: restart, a: id})
		}
		if m := c.nodes[id].m; m.role == failed {
			c.change(id).m = nil
			c.apply(move{kind: restart, a: id})
		}
	}
	done := c.settle(func() bool {
		for id := range ID(c.size()) {
			m := c.nodes[id].m
			if m.Leading() && m.refusal() == nil && !m.moving && m.cfg.Version == c.cfg.Version &&
				m.lease.Covers(m.cfg.Term, c.clock(id)) && m.cfg.InSync == m.cfg.Members {
				return true
			}
		}
		return false
	})
	if c.wrong != nil {
		return fmt.Errorf("when all is well again: %w", c.wrong)
	}
	if !done {
		return fmt.Errorf("%w: all is well again, and no primary takes writes with all members in sync", errWrong)
	}
	return nil
}
