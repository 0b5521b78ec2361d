package replica

import (
	"errors"
	"fmt"
	"slices"
)

// move is something that may happen in a world.
type move struct {
	kind kind
	a, b ID
}

type kind uint8

const (
	advance      kind = iota // a unit of time passes
	tick                     // at a
	deliverFrame             // from a to b
	deliverHello
	deliverAck
	loseFrame
	syncDisk   // a's disk has a's log
	serve      // the store carries out a's change, or refuses it
	learn      // a learns the config
	readLate   // a's read of the config is answered
	learnLate  // and that comes now
	submit     // write a+1 to b
	crash      // a
	stop       // a, in order
	restart    // a
	moveTo     // hand over from a to b
	failApply  // a's last entry cannot be applied
	trim       // a's log
	takeCopy   // of the state of b by a
	beginRead  // of a's memory
	beginOld   // of the memory of a's boot before
	takeValue  // the reader reads
	checkLease // and looks at the lease
	kinds
)

var kindNames = [kinds]string{"time passes", "tick at %d", "frame %d -> %d", "hello %d -> %d", "ack %d -> %d",
	"frame lost %d -> %d", "synced at %d", "store: change of %d", "%d learns the config", "%d reads a config that comes late",
	"%d learns it", "write %d+1 to %d", "crash of %d", "stop of %d", "start of %d", "hand over from %d to %d",
	"%d fails to apply", "%d trims its log", "%d copies %d", "reader begins at %d", "reader begins at the last boot of %d",
	"reader reads", "reader looks at the lease"}

func (mv move) String() string {
	args := []any{mv.a, mv.b}
	name := kindNames[mv.kind]
	n := 0
	for i := range name {
		if name[i] == '%' {
			n++
		}
	}
	return fmt.Sprintf(name, args[:n]...)
}

// forEach calls f for each move that may happen.
func (w *world) forEach(f func(move)) {
	n := ID(w.size())
	for k := range kinds {
		switch k {
		case advance, takeValue, checkLease:
			w.try(move{kind: k}, f)
		case deliverFrame, deliverHello, deliverAck, loseFrame, moveTo, takeCopy:
			for a := range n {
				for b := range n {
					w.try(move{k, a, b}, f)
				}
			}
		case submit:
			for a := range ID(w.writes) {
				for b := range n {
					w.try(move{k, a, b}, f)
				}
			}
		default:
			for a := range n {
				w.try(move{k, a, 0}, f)
			}
		}
	}
}

func (w *world) try(mv move, f func(move)) {
	if w.enabled(mv) {
		f(mv)
	}
}

func (w *world) alive(id ID) bool { return w.nodes[id].m != nil }

// enabled reports whether a move may happen, and does something.
func (w *world) enabled(mv move) bool {
	a, b := mv.a, mv.b
	switch mv.kind {
	case advance:
		return true
	case tick:
		return w.alive(a) && !w.still.Has(a)
	case deliverFrame:
		return len(w.frames[a][b]) > 0
	case loseFrame:
		return w.left.losses > 0 && len(w.frames[a][b]) > 0
	case deliverHello:
		return w.hellos[a][b] != nil
	case deliverAck:
		return w.acks[a][b] != nil
	case syncDisk:
		return w.alive(a) && !slices.Equal(w.nodes[a].log, w.nodes[a].disk)
	case serve:
		c := w.asks[a]
		return c != nil && (c.Version != w.cfg.Version || c.Term <= w.terms && c.Version < w.versions)
	case learn:
		return w.alive(a) && w.nodes[a].m.cfg.Version < w.cfg.Version
	case readLate:
		return w.alive(a) && w.left.late > 0 && w.late[a] == nil
	case learnLate:
		return w.alive(a) && w.late[a] != nil
	case submit:
		return w.alive(b) && w.nodes[b].m.Leading() && int(w.tried[a]) < w.attempts &&
			(a == 0 || w.tried[a-1] > 0) && (w.tried[a] == 0 || w.acked[a] == 0 || w.attempts > 2)
	case crash:
		return w.left.crashes > 0 && w.alive(a)
	case stop:
		return w.clean && w.left.crashes > 0 && w.alive(a)
	case restart:
		return !w.alive(a)
	case moveTo:
		return a != b && w.left.moves > 0 && w.alive(a) && w.nodes[a].m.Leading() && !w.nodes[a].m.moving
	case failApply:
		return w.left.failures > 0 && w.alive(a) && w.nodes[a].m.role == following && w.nodes[a].m.end > w.nodes[a].m.committed
	case trim:
		return w.trims && w.alive(a) && w.nodes[a].m.Leading() && w.nodes[a].m.trimmed+1 < w.nodes[a].m.committed
	case takeCopy:
		return w.alive(a) && w.nodes[a].m.role == copying && w.alive(b) && w.nodes[b].m.Leading()
	case beginRead:
		return w.left.reads > 0 && w.reader.phase == 0 && w.nodes[a].lease.Term != 0
	case beginOld:
		return w.left.reads > 0 && w.reader.phase == 0 && w.nodes[a].old.lease.Until > w.clock(a)
	case takeValue:
		return w.reader.phase == 1 && w.readable() != nil
	case checkLease:
		return w.reader.phase == 2 && w.readable() != nil
	}
	return false
}

// apply makes a move.
func (w *world) apply(mv move) {
	a, b := mv.a, mv.b
	switch mv.kind {
	case advance:
		w.now++
	case tick:
		if !w.enabled(mv) {
			return
		}
		w.step(a, Tick{})
	case deliverFrame:
		msg := w.frames[a][b][0]
		w.frames[a][b] = w.frames[a][b][1:]
		w.deliver(a, b, msg)
	case loseFrame:
		w.left.losses--
		w.frames[a][b] = w.frames[a][b][1:]
	case deliverHello:
		msg := w.hellos[a][b]
		w.hellos[a][b] = nil
		w.deliver(a, b, msg)
	case deliverAck:
		msg := w.acks[a][b]
		w.acks[a][b] = nil
		w.deliver(a, b, msg)
	case syncDisk:
		w.sync(a)
	case serve:
		if c := w.asks[a]; c.Version == w.cfg.Version {
			w.cfg = *c
			w.cfg.Version++
		}
		w.asks[a] = nil
	case learn:
		w.step(a, Learned{w.cfg})
	case readLate:
		w.left.late--
		c := w.cfg
		w.late[a] = &c
	case learnLate:
		c := w.late[a]
		w.late[a] = nil
		w.step(a, Learned{*c})
	case submit:
		w.tried[a]++
		w.possible[a]++
		w.step(b, Propose{[]Entry{entryOf(byte(a + 1))}})
	case crash:
		w.left.crashes--
		w.change(a).m = nil
	case stop:
		w.left.crashes--
		n := w.change(a)
		n.clean = !n.m.Doubt() || w.world == cleanIfSure
		n.m, n.disk, n.committed = nil, n.log, n.published
	case restart:
		clean := w.nodes[a].clean
		w.boot(a, clean)
	case moveTo:
		w.left.moves--
		w.step(a, HandOver{b})
	case failApply:
		w.left.failures--
		w.step(a, Failed{w.nodes[a].m.end})
	case trim:
		w.step(a, Trimmed{w.nodes[a].m.committed - 1})
	case takeCopy:
		from := w.nodes[b]
		n := w.change(a)
		n.log = slices.Clone(from.log[:from.published])
		n.disk, n.published, n.committed = n.log, from.published, from.published
		h, rs := describe(n.log)
		w.step(a, Copied{from.published, h, rs})
	default:
		w.read(mv)
	}
}

func (w *world) deliver(from, to ID, msg Message) {
	if w.alive(to) {
		w.step(to, Receive{from, msg})
	}
}

// reply is an answer to the client.
func (w *world) reply(id ID, r Reply) {
	i := r.Number - 1
	switch {
	case r.Err == nil:
		w.acknowledges(id, r)
	case errors.Is(r.Err, ErrUnknownOutcome):
	default:
		w.possible[i]--
		if slices.Contains(w.seen, byte(r.Number)) && w.possible[i] == 0 {
			w.fail("write %d was refused, and is there", r.Number)
		}
	}
}
