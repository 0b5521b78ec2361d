package rstar

import (
	"slices"
	"unsafe"
)

// The objects that a nearest search has found ahead lie side by side, and the
// queue has their places. One that was taken from the queue is dead. When the
// slice is full and half of it is dead, the living ones are moved to the other
// slice; so what a search holds, and the longest time that it copies, grow with
// the objects that wait: of 65,536 nearest never more than some 5,000.

// fewObjects is a number of objects among which dead ones are not worth a search.
const fewObjects = 1024

// makeRoom lets n objects be appended.
func (s *nearScratch) makeRoom(n int) {
	if len(s.objects)+n <= cap(s.objects) {
		return
	}
	if q := &s.queue; len(s.objects) >= fewObjects && 2*(len(q.heap)+len(q.far)) <= len(s.objects) {
		s.dropDead()
	}
	s.objects = slices.Grow(s.objects, n)
}

// dropDead leaves the objects that are in the queue.
func (s *nearScratch) dropDead() {
	living := s.spare[:0]
	for _, of := range [][]cand{s.queue.heap, s.queue.far} {
		for i := range of {
			if c := &of[i]; c.ref&kindMask == isObject {
				living = append(living, s.objects[c.ref])
				c.ref = isObject | uint64(len(living)-1)
			}
		}
	}
	s.objects, s.spare = living, s.objects
}

// bytes is the size of the queue and all that it refers to.
func (s *nearScratch) bytes() int {
	return s.inQueue() + 8*(cap(s.free)+cap(s.pages)) + s.inPages
}

func (s *nearScratch) inQueue() int {
	const item, c = int(unsafe.Sizeof(Item{})), int(unsafe.Sizeof(cand{}))
	return (cap(s.objects)+cap(s.spare))*item + (cap(s.queue.heap)+cap(s.queue.far))*c
}

// keptBytes is the memory that a searcher keeps after a nearest search: that of 1,000
// objects or more.
const keptBytes = 1 << 20

// trim gives large memory back.
func (s *nearScratch) trim() {
	const page = 4 << 10
	if len(s.pages)*page+s.inQueue() > keptBytes {
		*s = nearScratch{}
	}
}
