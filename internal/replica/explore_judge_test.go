package replica

import (
	"bytes"
	"slices"
)

// What must hold in all worlds:
//
//	prefix     What any reader could have seen is a prefix of the log of each in-sync
//	           member that may be promoted, and of what it will have after a crash.
//	published  All members publish the same, and take back nothing.
//	kept       An acknowledged write stays at its revision, and is not acknowledged with
//	           another.
//	once       No write is in the log twice, and none that was refused.
//	copies     An acknowledged write is in the logs of MinInSync members.
//	alone      A term has one primary, in one boot.
//	fresh      A memory with a lease that has not ended shows all that was acknowledged or
//	           believed before.

// leads notes that a member leads a term.
func (w *world) leads(id ID, n *node, term uint64) {
	if !n.m.Leading() {
		return
	}
	me := [2]byte{byte(id) + 1, byte(n.boots)}
	if l := &w.leaders[term]; l[0] == 0 {
		*l = me
	} else if *l != me {
		w.fail("alone: members %d and %d lead term %d, in boots %d and %d", l[0]-1, id, term, l[1], n.boots)
	}
}

// publishes notes what readers may see.
func (w *world) publishes(id ID, n *node) {
	p := n.log[:n.published]
	common := min(len(p), len(w.seen))
	if !bytes.Equal(p[:common], w.seen[:common]) {
		w.fail("published: member %d publishes %v, others have seen %v", id, p, w.seen)
		return
	}
	if len(p) <= len(w.seen) {
		return
	}
	for i, e := range p[common:] {
		if e < 100 && slices.Contains(p[:common+i], e) {
			w.fail("once: write %d is there twice: %v", e, p)
		}
		if e < 100 && w.possible[e-1] == 0 {
			w.fail("once: write %d was refused, and is there: %v", e, p)
		}
	}
	w.seen = slices.Clone(p)
}

// acknowledges notes a write that a client believes to be made.
func (w *world) acknowledges(id ID, r Reply) {
	i := r.Number - 1
	if w.acked[i] != 0 && w.acked[i] != r.Revision {
		w.fail("kept: write %d is said to be revision %d and %d", r.Number, w.acked[i], r.Revision)
	}
	w.acked[i] = r.Revision
	w.floor = max(w.floor, r.Revision)
	copies := 0
	for _, n := range w.nodes[:w.size()] {
		log := n.log
		if n.m == nil {
			log = n.disk
		}
		if len(log) >= int(r.Revision) && log[r.Revision-1] == byte(r.Number) {
			copies++
		}
	}
	crashed := int(w.left.crashes) < w.crashes && w.level == Received // and took what was received
	if copies < w.min && !crashed {
		w.fail("copies: member %d acknowledges write %d, which %d members have", id, r.Number, copies)
	}
}

// judge looks at a world after a move.
func (w *world) judge() {
	for i, r := range w.acked {
		if r != 0 && (len(w.seen) < int(r) || w.seen[r-1] != byte(i+1)) {
			w.fail("kept: write %d was acknowledged as revision %d, readers saw %v", i+1, r, w.seen)
		}
	}
	for id := range ID(w.size()) {
		n := w.nodes[id]
		for _, mem := range []memory{n.memory, n.old} {
			if mem.lease.Covers(mem.lease.Term, w.clock(id)) && mem.published < w.floor {
				w.fail("fresh: member %d shows revision %d with a lease, %d was acknowledged or believed", id, mem.published, w.floor)
			}
		}
		if !w.cfg.InSync.Has(id) {
			continue
		}
		onDisk := w.cfg.Level == Durable || id == w.cfg.Primary || n.clean
		if n.m != nil && (onDisk || !n.m.doubt) && !bytes.HasPrefix(n.log, w.seen) {
			w.fail("prefix: member %d has %v, readers saw %v", id, n.log, w.seen)
		}
		if onDisk && !bytes.HasPrefix(n.disk, w.seen) {
			w.fail("prefix: member %d has %v on its disk, readers saw %v", id, n.disk, w.seen)
		}
	}
}

// readable returns the memory that the reader reads, nil if two boots have passed.
func (w *world) readable() *memory {
	n := w.nodes[w.reader.of]
	switch n.boots - w.reader.boot {
	case 0:
		return &n.memory
	case 1:
		return &n.old
	}
	return nil
}

// read makes a step of the reader.
func (w *world) read(mv move) {
	r := &w.reader
	switch mv.kind {
	case beginRead, beginOld:
		w.left.reads--
		n := w.nodes[mv.a]
		*r = reader{phase: 1, of: mv.a, boot: n.boots, term: n.lease.Term, floor: w.floor}
		if mv.kind == beginOld {
			r.boot, r.term = n.boots-1, n.old.lease.Term
		}
		r.ok = w.believed()
	case takeValue:
		r.phase, r.value = 2, w.readable().published
		if w.world == leaseAfterBegin {
			r.floor = w.floor
			w.endRead()
		}
	case checkLease:
		r.ok = w.believed()
		w.endRead()
	}
}

// believed reports whether the lease covers what the reader reads now.
func (w *world) believed() bool {
	r := &w.reader
	lease, term, now := w.readable().lease, r.term, w.clock(r.of)
	switch w.world {
	case sameTerm:
		term = lease.Term
	case upperBound:
		now--
	case primarysClock:
		now = w.clock((r.of + 2) % 3)
	}
	return lease.Covers(term, now)
}

func (w *world) endRead() {
	r := &w.reader
	if r.ok && r.value < r.floor {
		w.fail("fresh: a reader believes revision %d of member %d, %d was acknowledged or believed before it began", r.value, r.of, r.floor)
	}
	if r.ok {
		w.floor = max(w.floor, r.value)
	}
	*r = reader{}
}
