package rstar

import (
	"errors"
	"math/rand/v2"
	"unsafe"
)

// randomWalk is a search that reads each line at a random time, to test the
// explorer's argument (explore_test.go).
type randomWalk struct {
	c     *trace
	r     *rand.Rand
	q     Rect
	h     header
	end   int
	items []Item
}

// visit reads the node at and the nodes below it that intersect, from begin on. It
// returns false when the search would begin again.
func (w *randomWalk) visit(at ref, begin int) bool {
	var n Node
	for tries := 0; ; tries++ {
		if tries > 40 {
			return false // it would continue, but later than is of interest
		}
		b, end := w.read(at.chunk, begin)
		var err error
		n, err = ViewNode(b, at.chunk, int(at.level), w.h.moves)
		if errors.Is(err, ErrTorn) {
			begin += w.r.IntN(w.c.end - begin + 1)
			continue
		}
		if err != nil {
			return false
		}
		begin = end
		break
	}
	w.end = max(w.end, begin)
	for _, i := range n.AppendHits(nil, w.q) {
		if n.Leaf() {
			w.items = append(w.items, Item{n.Rect(int(i)), n.Ref(int(i))})
			continue
		}
		// Some children are read at once, some later.
		from := begin + w.r.IntN(2)*w.r.IntN(w.c.end-begin+1)
		if !w.visit(ref{uint32(n.Ref(int(i))), at.level - 1}, from) {
			return false
		}
	}
	return true
}

// read reads the lines of a node at times from begin on, end the latest.
func (w *randomWalk) read(chunk uint32, begin int) (b []byte, end int) {
	var words []uint64
	spread := 1 + w.r.IntN(80) // at most as long as publishing a node takes
	end = begin
	for _, pieces := range w.c.nodeLines(chunk) {
		t := min(begin+w.r.IntN(spread), w.c.end)
		end = max(end, t)
		for i := range pieces {
			if t <= pieces[i].until {
				words = append(words, pieces[i].words[:]...)
				break
			}
		}
	}
	// SAFETY: the words of a node are its bytes.
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8), end
}

// finds returns where each object that the writes change was found.
func (w *randomWalk) finds(a *atlas) map[uint64]finds {
	fs := map[uint64]finds{}
	for _, state := range w.c.states {
		for id := range state {
			fs[id] = ""
		}
	}
	for _, it := range w.items {
		fs[it.ID] = fs[it.ID].with(a.place(it))
	}
	return fs
}
