package rstar

import "math"

// nearQueue is a priority queue of the entries that a nearest search may visit next. A
// search sees some three hundred entries and takes few of them, so only those up to a
// horizon are kept in order; the others wait, node by node (page.go), until the horizon
// is moved:
//
//	heap  keys <= near, a binary heap
//	far   keys >  near, unordered
//
// So while the heap is not empty its top is the least of all. (A child's key
// may exceed near by a rounding error: looking at a node early is harmless.)
type nearQueue struct {
	heap nearHeap
	far  []cand
	near float64 // the horizon
}

func (q *nearQueue) reset() { q.heap, q.far, q.near = q.heap[:0], q.far[:0], 0 }

func (q *nearQueue) push(c cand) {
	if c.key <= q.near {
		q.heap.push(c)
	} else {
		q.far = append(q.far, c)
	}
}

// ready moves the horizon if nothing is within it, and reports whether the queue has
// any entries.
func (q *nearQueue) ready() bool {
	if len(q.heap) > 0 {
		return true
	}
	if len(q.far) == 0 {
		return false
	}
	least := math.Inf(1)
	for i := range q.far {
		least = min(least, q.far[i].key)
	}
	// Twice as far is four times the area.
	q.widen(max(2*q.near, least))
	return true
}

// widen moves the horizon out to near.
func (q *nearQueue) widen(near float64) {
	q.near = near
	n := 0
	for _, c := range q.far {
		if c.key <= near {
			q.heap.push(c)
		} else {
			q.far[n] = c
			n++
		}
	}
	q.far = q.far[:n]
}

// least returns the least key, after ready has returned true.
func (q *nearQueue) least() float64 { return q.heap[0].key }

func (q *nearQueue) pop() cand { return q.heap.pop() }

// nearHeap is a binary heap by key.
type nearHeap []cand

// cand is something with a distance. The two highest bits of ref say what:
//
//	object  its place in nearScratch.objects
//	node    level and chunk, to be read
//	page    a node that was read, whose nearest entries have been pushed;
//	        its place in nearScratch.pages
type cand struct {
	key float64
	ref uint64
}

const (
	isObject = 0 << 62
	isNode   = 1 << 62
	isPage   = 2 << 62
	kindMask = 3 << 62
)

func nodeCand(key float64, r ref) cand {
	return cand{key, isNode | uint64(r.level)<<32 | uint64(r.chunk)}
}

func (c cand) node() ref { return ref{uint32(c.ref), int32(c.ref &^ kindMask >> 32)} }

func (p *nearHeap) push(c cand) {
	h := append(*p, c)
	*p = h
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up].key <= c.key {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

func (p *nearHeap) pop() cand {
	h := *p
	top, last := h[0], len(h)-1
	c := h[last]
	h = h[:last]
	*p = h
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1].key < h[down].key {
			down++
		}
		if c.key <= h[down].key {
			break
		}
		h[i] = h[down]
		i = down
	}
	if last > 0 {
		h[i] = c
	}
	return top
}
