package rstar

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// The writes of the explorer's writers (explore_test.go).

// effect is the effect of one write on the tree.
type effect struct {
	verb   string
	root   bool // the root was published
	moves  int  // changes of the header's and the writer's numbers
	used   int
	free   int
	height int
	levels int // before
}

// drawWrites draws writes on at most most objects and reports the effect of
// each, until stop returns true.
func drawWrites(t testing.TB, r *rand.Rand, by Strategy, most int, stop func(effect) bool) []write {
	t.Helper()
	tr := explorerTree(t, by)
	var ws []write
	var items []Item
	state := map[uint64]Rect{}
	id := uint64(0)
	for growing := true; ; {
		var w write
		i := 0
		if len(items) > 0 {
			i = r.IntN(len(items))
		}
		near := spaces[0].rect(r)
		p := r.IntN(10)
		if !growing {
			p = (p + 3) % 13 // 3..12: fewer inserts, more deletes
		}
		switch {
		case len(items) == 0 || p < 5:
			id++
			w = write{verb: "insert", it: Item{near, id}}
			items = append(items, w.it)
		case p < 8:
			w = write{verb: "update", it: items[i], to: near}
			if p == 7 { // near, often within the leaf
				b := items[i].Rect
				w.to = box(b.MinX+near.MinX/30, b.MinY+near.MinY/30, 0.01, 0.01)
			}
			items[i].Rect = w.to
		default:
			w = write{verb: "delete", it: items[i]}
			items[i] = items[len(items)-1]
			items = items[:len(items)-1]
		}
		if len(items) >= most {
			growing = false
		} else if len(items) < most/12 {
			growing = true
		}
		root, c := tr.at(tr.tx.root)[0], tr.tx.committed
		e := effect{
			verb: w.verb, moves: -int(tr.moves.Load()), used: -int(c.used),
			free: -len(tr.tx.freeChunks), height: -c.height, levels: c.height,
		}
		if err := w.do(tr, state); err != nil {
			t.Fatal(err)
		}
		e.root = tr.at(c.root)[0] != root
		c = tr.tx.committed
		e.moves += int(tr.moves.Load())
		e.used += int(c.used)
		e.free += len(tr.tx.freeChunks)
		e.height += c.height
		ws = append(ws, w)
		if stop(e) {
			return ws
		}
	}
}

// explorerTree returns an empty tree of the smallest nodes in the smallest
// slab.
func explorerTree(t testing.TB, by Strategy) *Tree {
	return newTree(t, Options{
		NodeBytes: 704, SlabBytes: 704 * minSlabChunks, BootID: 1, PortableStores: true,
		Strategy: by,
	})
}

// script is a kind of writes to explore.
type script struct {
	name string
	most int // objects
	// is says whether an effect is the i-th one wanted.
	is []func(e effect) bool
}

// Sizes: the smallest leaf has 14 objects, the smallest internal node 28
// children. 60 objects make two levels, 420 make three.
const (
	oneLeaf     = 10
	twoLevels   = 60
	threeLevels = 420
)

// The indexes in scripts of some that tests name.
const (
	splitsALeaf = 2
	reinserts   = 5 // only the original strategy does
)

var strategies = []Strategy{Revised, Original}

// allStrategies has those, too, that differ from others in numbers alone.
var allStrategies = []Strategy{Revised, Original, OriginalDoubles}

var scripts = []script{
	{"insert into a leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.moves == 0 && !e.root && e.levels > 1 },
	}},
	{"insert enlarges boxes", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.moves == 0 && e.root && e.levels > 1 },
	}},
	{"insert splits a leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.used-e.free == 1 && e.height == 0 },
	}},
	{"insert splits the root leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.height == 1 && e.levels == 1 },
	}},
	{"insert splits the root above leaves", threeLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.height == 1 && e.levels > 1 },
	}},
	{"insert reinserts", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "insert" && e.moves == 1 && e.used == 0 && e.free == 0 },
	}},
	{"delete from a leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "delete" && e.moves == 0 && e.root && e.levels > 1 },
	}},
	{"delete condenses", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "delete" && e.free > 0 && e.height == 0 },
	}},
	{"delete lowers the root", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "delete" && e.height == -1 },
	}},
	{"delete frees, insert reuses", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "delete" && e.free > 0 },
		func(e effect) bool { return e.verb == "insert" && e.free < 0 },
	}},
	{"update in a leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "update" && e.moves == 0 && e.root && e.levels > 1 },
	}},
	{"update to another leaf", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "update" && e.moves == 1 && e.used == 0 && e.free == 0 },
	}},
	{"insert splits an internal node", threeLevels, []func(effect) bool{
		func(e effect) bool {
			return e.verb == "insert" && e.used-e.free == 2 && e.levels == 3 && e.height == 0
		},
	}},
	{"delete condenses an internal node", threeLevels, []func(effect) bool{
		func(e effect) bool { return e.verb == "delete" && e.free-e.used == 2 && e.levels == 3 && e.height == 0 },
	}},
	{"delete of the last, load", twoLevels, nil},
	{"two moves", twoLevels, []func(effect) bool{
		func(e effect) bool { return e.moves == 1 },
		func(e effect) bool { return e.moves == 1 },
	}},
}

// loading frees all nodes, and then reuses them in a load.
func loading() (setup, ws []write) {
	r := rand.New(rand.NewPCG(1, 3))
	items := spaces[0].draw(r, 2*twoLevels)
	old := items[:twoLevels]
	for _, it := range old {
		setup = append(setup, write{verb: "insert", it: it})
	}
	for _, it := range old {
		setup = append(setup, write{verb: "delete", it: it})
	}
	last := len(setup) - 1
	return setup[:last], []write{setup[last], {verb: "load", items: items[twoLevels:]}}
}

// find returns the writes that a script asks for, and those before them.
func (s *script) find(t testing.TB, by Strategy, seed uint64) (setup, ws []write) {
	t.Helper()
	if s.is == nil {
		return loading()
	}
	for range 100 { // one or two histories suffice for frequent effects
		seed++
		r := rand.New(rand.NewPCG(seed, 1))
		var es []effect
		found := false
		all := drawWrites(t, r, by, s.most, func(e effect) bool {
			es = append(es, e)
			found = len(es) >= len(s.is)
			for i, is := range s.is {
				found = found && is(es[len(es)-len(s.is)+i])
			}
			// Three times up and down; after that, continue with other
			// objects.
			return found || len(es) > 12*s.most
		})
		if found {
			n := len(all) - len(s.is)
			return all[:n], all[n:]
		}
	}
	t.Fatalf("no history has an %s", s.name)
	return nil, nil
}

// mostRects bounds the objects that are searched for one by one: all of a
// tree of two levels.
const mostRects = twoLevels

// rects is the family of rectangles that are searched: everything, each
// quarter of the world, the objects one by one, and for each object that is
// written its places, their corners, and what covers two of them.
func (c *trace) rects() []Rect {
	qs := []Rect{plane}
	for _, id := range slices.Sorted(maps.Keys(c.states[0])) {
		if len(qs) <= mostRects {
			qs = append(qs, c.states[0][id])
		}
	}
	for i := range 4 {
		qs = append(qs, box(float64(i%2)/2, float64(i/2)/2, 0.5, 0.5))
	}
	for _, w := range c.calls {
		if w.verb == "load" {
			continue
		}
		at := []Rect{w.it.Rect}
		if w.verb == "update" {
			at = append(at, w.to)
			qs = append(qs, w.it.Rect.Union(w.to))
		}
		for _, r := range at {
			qs = append(qs, r, box(r.MinX, r.MinY, 0, 0), box(r.MaxX, r.MaxY, 0, 0))
		}
	}
	return qs
}
