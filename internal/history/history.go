// Package history records what concurrent clients did and saw, and checks it
// against what a search promises (docs/design.md, "Readers without locks"):
// each object is a linearizable register whose value is its place in the
// tree, or absence.
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
// search began is before it in every order. porcupine searches for a valid
// order (Lowe, "Testing for linearizability", 2017).
package history

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/catfish-index/catfish/rstar"
)

// Recorder collects operations of any number of clients.
type Recorder struct {
	start time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
	err error
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
	query   rstar.Rect // read: what the search covers
	seen    rstar.Rect // read: Absent if it was not seen
	from    rstar.Rect // write: the state it needs
	to      rstar.Rect // write: the state it leaves
	found   bool       // write: whether it reported that it found from
	unknown bool       // write: whether it happened is not known
}

// Write records a change of one object: Insert is from Absent, Delete is to
// Absent. found is what Delete or Update returned, true for Insert. unknown
// means that the answer was lost: the write may take effect at any later
// time, or never.
func (r *Recorder) Write(client int, call int64, id uint64, from, to rstar.Rect, found, unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.Now()
	if unknown {
		end = 1 << 62
	}
	r.ops = append(r.ops, porcupine.Operation{
		ClientId: client, Call: call, Return: end,
		Input: op{id: id, from: from, to: to, found: found, unknown: unknown},
	})
}

// Search records what a search of q found. The objects 0..n-1 are tracked;
// larger ids are ignored.
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
		r.ops = append(r.ops, porcupine.Operation{
			ClientId: client, Call: call, Return: end,
			Input: op{id: uint64(id), read: true, query: q, seen: at},
		})
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
func (r *Recorder) Check(initial map[uint64]rstar.Rect, limit time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	byID := make(map[uint64][]porcupine.Operation)
	for _, o := range r.ops {
		id := o.Input.(op).id
		byID[id] = append(byID[id], o)
	}
	for id, ops := range byID {
		at, ok := initial[id]
		if !ok {
			at = Absent
		}
		switch porcupine.CheckOperationsTimeout(model(at), ops, limit) {
		case porcupine.Illegal:
			return fmt.Errorf("history: object %d: no order explains its %d operations; %s", id, len(ops), shortest(at, ops, limit))
		case porcupine.Unknown:
			return fmt.Errorf("history: object %d: %d operations not checked within %v", id, len(ops), limit)
		}
	}
	return nil
}

// shortest describes the operation that makes the history invalid: the last
// of the shortest prefix, by time of return, that no order explains.
func shortest(at rstar.Rect, ops []porcupine.Operation, limit time.Duration) string {
	lo, hi := 0, len(ops)
	for lo < hi {
		mid := (lo + hi) / 2
		if porcupine.CheckOperationsTimeout(model(at), prefix(ops, mid), limit) == porcupine.Illegal {
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
		if o.Return > last.Return {
			last = o
		}
	}
	return fmt.Sprintf("the first that fits none: client %d, %d..%d ns: %+v", last.ClientId, last.Call, last.Return, last.Input)
}

// prefix is the n operations that returned first, and those that had begun by
// then, whose effect may already be visible.
func prefix(ops []porcupine.Operation, n int) []porcupine.Operation {
	if n == 0 {
		return nil
	}
	rank := make([]int64, len(ops))
	for i, o := range ops {
		rank[i] = o.Return
	}
	slices.Sort(rank)
	cut := rank[n-1]
	var p []porcupine.Operation
	for _, o := range ops {
		in := o.Input.(op)
		if o.Return <= cut || !in.read && o.Call <= cut {
			p = append(p, o)
		}
	}
	return p
}

func model(initial rstar.Rect) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			at, o := state.(rstar.Rect), input.(op)
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
		},
		Equal: func(a, b any) bool { return a.(rstar.Rect) == b.(rstar.Rect) },
	}
}
