package cuckoo

// Insertion with several items a bucket
//
// A full bucket has several edges out, so there is no single path to follow, and the
// numbers of a component only say that there is no room if it is full altogether, which
// hardly happens before the whole table is. So a breadth-first search from both buckets
// looks for the nearest vacancy, before any kick. It finds the shortest path, which
// visits no bucket twice.

// maxSearch bounds the buckets that a search looks at. At a load of 0.96 with
// five items a bucket one of five is not full, and 64 buckets fail to find
// one in less than a millionth of cases; the rest is for loads up to 0.98.
const maxSearch = 512

type search struct {
	t     *table
	queue [maxSearch]step
	path  []spot // scratch
}

// step is a bucket of the search: the item at place of the bucket of step
// from has it as its other bucket.
type step struct {
	vertex uint64
	from   int32 // -1: one of the new item's own
	place  int8
}

func (s *search) added(uint64)   {}
func (s *search) removed(uint64) {}
func (s *search) reset()         {}

// place implements rule.
func (s *search) place(hash, ref uint64) bool {
	t := s.t
	a, b := t.vertex(hash, 0), t.vertex(hash, 1)
	// The emptier bucket first: this delays full ones.
	if i, j := t.vacant(a), t.vacant(b); i >= 0 || j >= 0 {
		if i < 0 || j >= 0 && t.count(b) < t.count(a) {
			a, i = b, j
		}
		t.put(spot{a, i}, hash, ref)
		return true
	}
	s.queue[0], s.queue[1] = step{a, -1, 0}, step{b, -1, 0}
	n := 2
	for i := 0; i < n; i++ {
		v := s.queue[i].vertex
		for place := range int(t.items) {
			w := t.other(v, t.hashAt(spot{v, place}))
			t.own(w)
			s.queue[n] = step{w, int32(i), int8(place)}
			if free := t.vacant(w); free >= 0 {
				t.kick(s.way(n, free), hash, ref)
				return true
			}
			if n++; n == maxSearch {
				t.stats.BoundedOut++
				return false
			}
		}
	}
	return false
}

// way is the path from the item's own bucket to the vacant place of step n.
func (s *search) way(n, free int) []spot {
	depth := 0
	for i := int32(n); i >= 0; i = s.queue[i].from {
		depth++
	}
	if cap(s.path) < depth {
		s.path = make([]spot, maxSearch)
	}
	s.path = s.path[:depth]
	for i := int32(n); i >= 0; i = s.queue[i].from {
		depth--
		s.path[depth] = spot{s.queue[i].vertex, free}
		free = int(s.queue[i].place)
	}
	return s.path
}

// count is the number of items in a bucket.
func (t *table) count(v uint64) (n int) {
	l := t.line(v)
	for i := range int(t.items) {
		if l.ref(i) != 0 {
			n++
		}
	}
	return n
}
