package rstar

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"
)

// The stores of a writer to a slab, in order (explore_test.go).

// write is one call of the writer.
type write struct {
	verb  string // insert, delete, update, load
	it    Item
	to    Rect   // update
	items []Item // load
}

func (w write) String() string {
	switch w.verb {
	case "update":
		return fmt.Sprintf("update of object %d from %s to %s",
			w.it.ID, short(w.it.Rect), short(w.to))
	case "load":
		return fmt.Sprintf("load of %d objects", len(w.items))
	}
	return fmt.Sprintf("%s of object %d at %s", w.verb, w.it.ID, short(w.it.Rect))
}

func short(r Rect) string {
	return fmt.Sprintf("[%.3g %.3g %.3g %.3g]", r.MinX, r.MinY, r.MaxX, r.MaxY)
}

// do makes the call, and notes its intended result in state.
func (w write) do(tr *Tree, state map[uint64]Rect) error {
	ok, err := true, error(nil)
	switch w.verb {
	case "insert":
		err = tr.Insert(w.it.Rect, w.it.ID)
		state[w.it.ID] = w.it.Rect
	case "delete":
		ok, err = tr.Delete(w.it.Rect, w.it.ID)
		delete(state, w.it.ID)
	case "update":
		ok, err = tr.Update(w.it.Rect, w.to, w.it.ID)
		state[w.it.ID] = w.to
	case "load":
		// One goroutine publishes, so that a trace can be repeated.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		err = tr.Load(w.items)
		for _, it := range w.items {
			state[it.ID] = it.Rect
		}
	}
	if err != nil || !ok {
		return fmt.Errorf("%v: %v, %v", w, ok, err)
	}
	return nil
}

// stored is one 8-byte store; word counts from the slab's first.
type stored struct {
	word  int
	value uint64
}

// called is a write of the trace: the stores done when it was called and
// when it returned.
type called struct {
	write
	begin, end int
}

// trace is the stores of a few writes on a small tree. Time is the number of
// completed stores, 0 to end.
type trace struct {
	tree   *Tree // the result of the writes; its geometry
	before []uint64
	stores []stored
	end    int
	calls  []called
	states []map[uint64]Rect // states[k]: the objects after k writes
	lines  [][]piece         // of the chunks in use, by time
}

// piece is the content of a line from one time to another, both included.
type piece struct {
	from, until int
	words       [lanes]uint64
}

// record makes the writes of setup on an empty tree, then calls begin, and
// then records every store while the tree makes the writes ws.
func record(tr *Tree, setup []write, begin func(), ws []write) (*trace, error) {
	state := map[uint64]Rect{}
	for _, w := range setup {
		if err := w.do(tr, state); err != nil {
			return nil, err
		}
	}
	begin()
	c := &trace{tree: tr, before: slices.Clone(tr.words)}
	c.states = append(c.states, maps.Clone(state))
	first := uintptr(unsafe.Pointer(&tr.words[0]))
	tr.onStore = func(w *uint64, v uint64) {
		c.stores = append(c.stores, stored{int(uintptr(unsafe.Pointer(w))-first) / 8, v})
	}
	for _, w := range ws {
		begin := len(c.stores)
		if err := w.do(tr, state); err != nil {
			return nil, err
		}
		c.calls = append(c.calls, called{w, begin, len(c.stores)})
		c.states = append(c.states, maps.Clone(state))
	}
	tr.onStore = nil
	c.end = len(c.stores)
	return c, c.cut()
}

// cut turns the stores into pieces of lines.
func (c *trace) cut() error {
	now := slices.Clone(c.before)
	used := int(c.tree.tx.committed.used) * c.tree.nodeWords
	c.lines = make([][]piece, used/lanes)
	add := func(l, from int) {
		p := piece{from: from, until: c.end, words: [lanes]uint64(now[l*lanes:])}
		c.lines[l] = append(c.lines[l], p)
	}
	for l := range c.lines {
		add(l, 0)
	}
	for i, s := range c.stores {
		if now[s.word] == s.value {
			continue // as if nothing happened
		}
		now[s.word] = s.value
		l := s.word / lanes
		c.lines[l][len(c.lines[l])-1].until = i
		add(l, i+1)
	}
	if !slices.Equal(now, c.tree.words) {
		return fmt.Errorf("%d stores were recorded, but the slab shows others", c.end)
	}
	return nil
}

// nodeLines returns the pieces of a node's lines.
func (c *trace) nodeLines(chunk uint32) [][]piece {
	n := c.tree.nodeLines
	return c.lines[int(chunk)*n:][:n]
}

// chunks is the number of chunks ever used, including the header's.
func (c *trace) chunks() uint32 { return uint32(len(c.lines) / c.tree.nodeLines) }

// acked is the number of writes that had returned at time t, begun the number that had
// stored something before it.
func (c *trace) acked(t int) (k int) {
	for k < len(c.calls) && c.calls[k].end <= t {
		k++
	}
	return k
}

func (c *trace) begun(t int) (k int) {
	for k < len(c.calls) && c.calls[k].begin < t {
		k++
	}
	return k
}
