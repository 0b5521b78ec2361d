package shm

import (
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// batch bounds what one Poll takes from one ring while others wait:
	// enough to spread a head update over several events, few enough that 100
	// busy rings are each served within microseconds.
	batch = 16

	// coldChecks is the number of cold rings that a Poll checks: with 1,000 of
	// them, each is checked every 250 polls.
	coldChecks = 4

	// keepHot is the number of hot rings that are not worth arming while the
	// queue is awake: checking them takes 20 ns.
	keepHot = 16

	// sweepPolls is the number of polls between two sweeps for idle hot
	// rings, and idlePolls the number of polls after which one counts as
	// idle. Arming costs the sender a system call at the next event, about as
	// long as 10 polls, so checking idle rings may first cost that many times
	// as much.
	sweepPolls = 256
	idlePolls  = 2048
)

// ring is a pair's receive ring in the lists of its queue.
type ring struct {
	receiver
	qp    *queuePair
	hot   bool
	index int // in its list, -1: in none
}

// entry is what a check needs, contiguous for all rings: an idle ring costs
// this and its slot's line.
type entry struct {
	slot *atomic.Uint64
	idle uint32 // its turn while there is no event
	used uint64 // last poll with an event
	ring *ring
}

// ringLists are the hot and cold rings of a queue. Guarded by its mu.
type ringLists struct {
	hot, cold []entry
	nextHot   int // where the next poll begins
	nextCold  int
	polls     uint64
	sweepDue  uint64
}

func (l *ringLists) list(hot bool) *[]entry {
	if hot {
		return &l.hot
	}
	return &l.cold
}

// add puts a ring that is in no list into one.
func (l *ringLists) add(r *ring, hot bool) {
	list := l.list(hot)
	r.hot, r.index = hot, len(*list)
	_, idle := r.turns()
	*list = append(*list, entry{slot: r.slot(r.pos), idle: idle, used: l.polls, ring: r})
}

func (l *ringLists) remove(r *ring) {
	if r.index < 0 {
		return
	}
	list := l.list(r.hot)
	last := len(*list) - 1
	if r.index <= last && (*list)[r.index].ring == r {
		(*list)[r.index] = (*list)[last]
		(*list)[r.index].ring.index = r.index
		(*list)[last] = entry{}
		*list = (*list)[:last]
	}
	r.index = -1
}

// heat makes a ring hot: its sender need not wake this side any more.
func (l *ringLists) heat(r *ring) {
	if r.hot && r.index >= 0 {
		return
	}
	l.remove(r)
	r.armed.Store(0)
	l.add(r, true)
}

// arm makes a hot ring cold, unless it has an event (ring.go, R1, R2).
func (l *ringLists) arm(r *ring) (found bool) {
	r.armed.Store(1)
	if _, idle := r.turns(); uint32(r.slot(r.pos).Load()) != idle {
		r.armed.Store(0)
		return true
	}
	l.remove(r)
	l.add(r, false)
	return false
}

// armAll arms every hot ring, or stops at the first with an event.
func (l *ringLists) armAll() (found bool) {
	for len(l.hot) > 0 {
		if l.arm(l.hot[len(l.hot)-1].ring) {
			return true
		}
	}
	return false
}

// heatFew makes all rings hot if they are few, before the queue spins: their
// senders need not wake a queue that is awake.
func (l *ringLists) heatFew() {
	if len(l.hot)+len(l.cold) > keepHot {
		return
	}
	for len(l.cold) > 0 {
		l.heat(l.cold[len(l.cold)-1].ring)
	}
}

// look reports whether a hot ring has an event, or one of the next few cold
// ones. The next poll then begins at that ring.
func (l *ringLists) look() bool {
	for i := range l.hot {
		if e := &l.hot[i]; uint32(e.slot.Load()) != e.idle {
			return true
		}
	}
	for range min(coldChecks, len(l.cold)) {
		if l.nextCold >= len(l.cold) {
			l.nextCold = 0
		}
		if e := &l.cold[l.nextCold]; uint32(e.slot.Load()) != e.idle {
			return true
		}
		l.nextCold++
	}
	return false
}

// poll takes events from the hot rings, at most batch from each, continuing
// where the last poll stopped.
func (l *ringLists) poll(dst []rdma.Completion) int {
	if len(dst) == 0 {
		return 0
	}
	l.polls++
	if len(l.cold) > 0 {
		l.lookAtCold()
	}
	n := 0
	if l.nextHot >= len(l.hot) {
		l.nextHot = 0
	}
	i := l.nextHot
	for range len(l.hot) {
		e := &l.hot[i]
		if i++; i == len(l.hot) {
			i = 0
		}
		if uint32(e.slot.Load()) == e.idle {
			continue
		}
		e.used = l.polls
		n += e.ring.drain(dst[n:min(n+batch, len(dst))])
		e.slot = e.ring.slot(e.ring.pos)
		_, e.idle = e.ring.turns()
		if n == len(dst) {
			break
		}
	}
	l.nextHot = i
	if l.polls >= l.sweepDue {
		l.sweep()
	}
	return n
}

// drain takes up to len(dst) events. A broken ring fails its pair.
func (r *ring) drain(dst []rdma.Completion) int {
	n := 0
	for n < len(dst) {
		imm, length, state := r.take()
		if state == ringBroken {
			r.qp.fail(rdma.StatusProtocol, errRing)
		}
		if state != ringEvent {
			break
		}
		dst[n] = rdma.Completion{Op: rdma.OpRecv, Imm: imm, Bytes: length, QP: r.qp}
		n++
	}
	if n > 0 && r.done() {
		r.qp.out.sendWake()
	}
	return n
}

func (l *ringLists) lookAtCold() {
	for range min(coldChecks, len(l.cold)) {
		if l.nextCold >= len(l.cold) {
			l.nextCold = 0
		}
		if e := &l.cold[l.nextCold]; uint32(e.slot.Load()) != e.idle {
			l.heat(e.ring)
			if len(l.cold) == 0 {
				return
			}
		} else {
			l.nextCold++
		}
	}
}

// sweep arms rings that have been idle for long, if there are many.
func (l *ringLists) sweep() {
	l.sweepDue = l.polls + sweepPolls
	for i := len(l.hot) - 1; i >= 0 && len(l.hot) > keepHot; i-- {
		if l.polls-l.hot[i].used > idlePolls {
			l.arm(l.hot[i].ring)
		}
	}
}
