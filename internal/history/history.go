// Package history records the operations of concurrent clients and their
// results, and checks them against the promise of a search (docs/design.md,
// "Readers without locks"): each object is a linearizable register whose
// value is its place in the tree, or absence.
//
//	write   Insert, Delete, Update of one object
//	search  one read of every tracked object: seen at a place, or not
//	        seen, that is, absent or at a place that the search misses
//
// An id must not be deleted and inserted again: that would be another object.
//
// Complete, sound and current all follow: an object that stayed was seen
// (else its read has no point in time at which it was absent), exactly once
// (Search fails on a duplicate at once), and a write acknowledged before a
// search began is before it in every order.
package history

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// Recorder collects operations of any number of clients.
type Recorder struct {
	start time.Time

	mu  sync.Mutex
	ops []recorded
	err error
}

// recorded is an operation in the order of its recording.
type recorded struct {
	client    int
	call, end int64
	op        op
}

// New starts a history.
func New() *Recorder { return &Recorder{start: time.Now()} }

// Now returns the time to pass as an operation's call.
func (r *Recorder) Now() int64 { return int64(time.Since(r.start)) }

// Absent is the place of an object that is not in the tree.
var Absent = rstar.Rect{MinX: 1, MaxX: -1}

// op is one operation on one object, input and output together.
type op struct {
	id      uint64
	read    bool
	query   rstar.Rect // read: the searched rectangle
	seen    rstar.Rect // read: Absent if it was not seen
	from    rstar.Rect // write: the state it needs
	to      rstar.Rect // write: the state after it
	found   bool       // write: whether it reported that it found from
	unknown bool       // write: it is not known whether it took effect
}

// Write records a change of one object: Insert is from Absent, Delete is to
// Absent. found is the result of Delete or Update, true for Insert. unknown
// means that the answer was lost: the write may take effect at any later
// time, or never.
func (r *Recorder) Write(client int, call int64, id uint64, from, to rstar.Rect, found, unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.Now()
	if unknown {
		end = never
	}
	r.ops = append(r.ops, recorded{client, call, end, op{id: id, from: from, to: to, found: found, unknown: unknown}})
}

// Search records the result of a search of q. The objects 0..n-1 are
// tracked; larger ids are ignored.
func (r *Recorder) Search(client int, call int64, q rstar.Rect, n int, items []rstar.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.Now()
	seen := make([]rstar.Rect, n)
	for i := range seen {
		seen[i] = Absent
	}
	for _, it := range items {
		if it.ID >= uint64(n) {
			continue
		}
		if seen[it.ID] != Absent && r.err == nil {
			r.err = fmt.Errorf("history: search of %v by client %d returned object %d twice: at %v and %v",
				q, client, it.ID, seen[it.ID], it.Rect)
		}
		if !it.Rect.Intersects(q) && r.err == nil {
			r.err = fmt.Errorf("history: search of %v returned object %d at %v, which does not intersect", q, it.ID, it.Rect)
		}
		seen[it.ID] = it.Rect
	}
	for id, at := range seen {
		r.ops = append(r.ops, recorded{client, call, end, op{id: uint64(id), read: true, query: q, seen: at}})
	}
}

// Len is the number of operations so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// Check looks for an order of each object's operations that explains all
// of them. initial is where objects were at the start; others were absent.
func (r *Recorder) Check(initial map[uint64]rstar.Rect) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	byID := make(map[uint64][]recorded)
	for _, o := range r.ops {
		byID[o.op.id] = append(byID[o.op.id], o)
	}
	for id, ops := range byID {
		at, ok := initial[id]
		if !ok {
			at = Absent
		}
		switch ok, err := explained(at, steps(ops), most); {
		case err != nil:
			return fmt.Errorf("history: object %d: %d operations: %w", id, len(ops), err)
		case !ok:
			return fmt.Errorf("history: object %d: no order explains its %d operations; %s", id, len(ops), shortest(at, ops))
		}
	}
	return nil
}

// shortest describes the operation that makes the history invalid: the last
// of the shortest prefix, by time of return, that no order explains.
func shortest(at rstar.Rect, ops []recorded) string {
	lo, hi := 0, len(ops)
	for lo < hi {
		mid := (lo + hi) / 2
		if ok, err := explained(at, steps(prefix(ops, mid)), most); !ok && err == nil {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	p := prefix(ops, hi)
	if len(p) == 0 {
		return "none"
	}
	last := p[0]
	for _, o := range p {
		if o.end > last.end {
			last = o
		}
	}
	return fmt.Sprintf("the first that fits none: client %d, %d..%d ns: %+v", last.client, last.call, last.end, last.op)
}

// prefix is the n operations that returned first, and those that had begun by
// then, whose effect may already be visible.
func prefix(ops []recorded, n int) []recorded {
	if n == 0 {
		return nil
	}
	rank := make([]int64, len(ops))
	for i, o := range ops {
		rank[i] = o.end
	}
	slices.Sort(rank)
	cut := rank[n-1]
	var p []recorded
	for _, o := range ops {
		if o.end <= cut || !o.op.read && o.call <= cut {
			p = append(p, o)
		}
	}
	return p
}

// steps are the operations on an object as those on a register.
func steps(ops []recorded) []operation[rstar.Rect] {
	var all []operation[rstar.Rect]
	for _, o := range ops {
		all = append(all, operation[rstar.Rect]{
			client: o.client, call: o.call, end: o.end, watches: o.op.read || !o.op.found && !o.op.unknown, step: o.op.step,
		})
	}
	return all
}

func (o op) step(at rstar.Rect) (bool, rstar.Rect) {
	switch {
	case o.read && o.seen == Absent:
		return at == Absent || !at.Intersects(o.query), at
	case o.read:
		return at == o.seen, at
	case o.unknown:
		if at == o.from {
			return true, o.to
		}
		return true, at
	case o.found:
		return at == o.from, o.to
	}
	return at != o.from, at
}
