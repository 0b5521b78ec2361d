package record

import "time"

// retiree is a place out of use that readers may still read.
type retiree struct {
	due time.Duration
	ref Ref
	// blocks: ref is a head, and its blocks are retired with it. Noted here, so that
	// the heap does not read other records again, whose lines are cold by then.
	blocks bool
}

// fifo holds places that only the base grace keeps: they become due in the
// order in which they came. It is a ring that grows by doubling.
type fifo struct {
	ring []retiree
	head int
	n    int
}

func (f *fifo) push(r retiree) {
	if f.n == len(f.ring) {
		ring := make([]retiree, max(2*f.n, 64))
		copy(ring[copy(ring, f.ring[f.head:]):], f.ring[:f.head])
		f.ring, f.head = ring, 0
	}
	f.ring[(f.head+f.n)&(len(f.ring)-1)] = r
	f.n++
}

func (f *fifo) pop() retiree {
	r := f.ring[f.head]
	f.head = (f.head + 1) & (len(f.ring) - 1)
	f.n--
	return r
}

// due is when no reader may read a record any more that dies now.
func (h *Heap) due(ref Ref) time.Duration {
	end := leaseEnd(word(h.at(ref), offLease))
	switch mutant {
	case noLease:
		end = 0
	case noGrace:
		return max(h.now, end)
	}
	return max(h.now+h.grace, end)
}

// retire queues a place that is free when due.
func (h *Heap) retire(ref Ref, due time.Duration, blocks bool) {
	r := retiree{due: due, ref: ref, blocks: blocks}
	h.retiredBytes += h.bytesOf(r)
	if due <= h.now+h.grace {
		h.retired.push(r)
		return
	}
	// Up the heap.
	h.leased = append(h.leased, r)
	q := h.leased
	i := len(q) - 1
	for ; i > 0 && q[(i-1)/2].due > due; i = (i - 1) / 2 {
		q[i] = q[(i-1)/2]
	}
	q[i] = r
}

// popLeased removes the first of h.leased.
func (h *Heap) popLeased() retiree {
	q := h.leased
	first, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	i := 0
	for c := 1; c < len(q); c = 2*i + 1 {
		if c+1 < len(q) && q[c+1].due < q[c].due {
			c++
		}
		if q[c].due >= last.due {
			break
		}
		q[i] = q[c]
		i = c
	}
	if len(q) > 0 {
		q[i] = last
	}
	h.leased = q
	return first
}

// Reclaim frees up to most places that no reader may read any more, and returns their
// number. A long record counts as one for each of its blocks, and is freed whole: so it
// may be some thousands more.
func (h *Heap) Reclaim(now time.Duration, most int) int {
	h.advance(now)
	n := 0
	for n < most {
		var r retiree
		switch {
		case h.retired.n > 0 && h.retired.ring[h.retired.head].due <= h.now:
			r = h.retired.pop()
		case len(h.leased) > 0 && h.leased[0].due <= h.now:
			r = h.popLeased()
		default:
			return n
		}
		h.retiredBytes -= h.bytesOf(r)
		n += h.free(r)
	}
	return n
}

// free releases the places of a retiree, and returns their number.
func (h *Heap) free(r retiree) int {
	n := 1
	if r.blocks {
		v := h.view(r.ref, guard(word(h.at(r.ref), 0)))
		for i := range v.Blocks() {
			h.release(v.block(i))
			n++
		}
	}
	h.release(r.ref)
	return n
}

// bytesOf is the size of a retiree's places.
func (h *Heap) bytesOf(r retiree) int {
	n := h.placeBytes(r.ref)
	if r.blocks {
		v := h.view(r.ref, guard(word(h.at(r.ref), 0)))
		for i := range v.Blocks() {
			n += h.placeBytes(v.block(i))
		}
	}
	return n
}

func (h *Heap) placeBytes(ref Ref) int {
	return int(classLines[h.spans[ref.place()/spanLines].class]) * LineBytes
}
