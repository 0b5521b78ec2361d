package rstar

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// churn is a writer that makes operations between the steps of searches.
type churn struct {
	t  *testing.T
	tr *Tree
	w  world
	r  *rand.Rand
}

func newChurn(t *testing.T, objects int, seed uint64) *churn {
	t.Helper()
	k := &churn{t, newTree(t, Options{NodeBytes: 704, SlabBytes: 4 << 20}), make(world, objects), rand.New(rand.NewPCG(seed, 9))}
	for i := range k.w {
		k.w[i].kind, k.w[i].seed = i%kinds, uint64(i)
		if err := k.w[i].step(k.tr, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// write makes n operations on objects of the kinds that change.
func (k *churn) write(n int) {
	k.t.Helper()
	for n > 0 {
		i := k.r.IntN(len(k.w))
		if k.w[i].kind == stays {
			continue
		}
		if err := k.w[i].step(k.tr, uint64(i)); err != nil {
			k.t.Fatal(err)
		}
		n--
	}
}

// judgeParts is judge for a search that was made in parts: objects that were
// moved may be missed, or be found at several places.
func (w world) judgeParts(lo []int64, q Rect, found map[uint64][]Rect) error {
	rest := map[uint64][]Rect{}
	for id, rs := range found {
		if w[id].kind != moves {
			rest[id] = rs
			continue
		}
		if err := w.explained(int(id), lo[id], rs); err != nil {
			return err
		}
	}
	for i := range w { // judge takes them as found
		if r, ok := w[i].state(lo[i]); w[i].kind == moves && ok && r.Intersects(q) {
			rest[uint64(i)] = []Rect{r}
		}
	}
	return w.judge(lo, q, rest)
}

// explained returns which of the places at which an object was found belongs to no
// state since lo, or was found too often.
func (w world) explained(id int, lo int64, places []Rect) error {
	left := slices.Clone(places)
	for k := lo; k <= w[id].started.Load(); k++ {
		if r, ok := w[id].state(k); ok {
			if j := slices.Index(left, r); j >= 0 {
				left = slices.Delete(left, j, j+1)
			}
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("object %d found at %v, where it was in no state since %d, or twice", id, left, lo)
	}
	return nil
}

// judgeCountParts is judgeCount for a count that was made in parts.
func (w world) judgeCountParts(lo []int64, q Rect, n int) error {
	least, most := 0, 0
	for i := range w {
		l := &w[i]
		hi := l.started.Load()
		if l.kind == stays {
			hi = lo[i]
		}
		always := l.kind != moves
		for k := lo[i]; k <= hi; k++ {
			r, ok := l.state(k)
			if ok && r.Intersects(q) {
				most++
			} else {
				always = false
			}
		}
		if always {
			least++
		}
	}
	if n < least || n > most {
		return fmt.Errorf("count is %d, want %d to %d", n, least, most)
	}
	return nil
}

// judgeBrowse is judgeNearest for a Browse: objects that were moved may be
// missed, or be found at several places.
func (w world) judgeBrowse(lo []int64, found map[uint64][]Rect) error {
	rest := map[uint64][]Rect{}
	for id, rs := range found {
		if w[id].kind != moves {
			rest[id] = rs
		} else if err := w.explained(int(id), lo[id], rs); err != nil {
			return err
		}
	}
	for i := range w {
		if r, ok := w[i].state(lo[i]); w[i].kind == moves && ok {
			if lo[i] == w[i].started.Load() && len(found[uint64(i)]) != 1 {
				return fmt.Errorf("object %d, not moved, found at %v", i, found[uint64(i)])
			}
			rest[uint64(i)] = []Rect{r}
		}
	}
	return w.judgeNearest(lo, rest)
}

// askScan and the others ask in steps of a few nodes, so that queries are
// divided.

func askScan(tr *Tree, w world, q Rect) error {
	lo, found := w.before(), map[uint64][]Rect{}
	c := tr.Scan(q, 0)
	defer c.Close()
	for !c.Step(40) {
		runtime.Gosched()
	}
	if c.Err() != nil {
		return c.Err()
	}
	for _, it := range c.AppendItems(nil) {
		found[it.ID] = append(found[it.ID], it.Rect)
	}
	if c.Parts() == 1 {
		return w.judge(lo, q, found)
	}
	return w.judgeParts(lo, q, found)
}

func askCountScan(tr *Tree, w world, q Rect) error {
	lo := w.before()
	c := tr.CountScan(q)
	defer c.Close()
	for !c.Step(40) {
		runtime.Gosched()
	}
	if c.Err() != nil {
		return c.Err()
	}
	if c.Parts() == 1 {
		return w.judgeCount(lo, q, c.Count())
	}
	return w.judgeCountParts(lo, q, c.Count())
}

func askBrowse(tr *Tree, w world, q Rect) error {
	x, y := 0.5, 0.5
	if q != plane {
		x, y = q.MinX, q.MinY
	}
	lo, found := w.before(), map[uint64][]Rect{}
	b := tr.Browse(x, y)
	defer b.Close()
	last := 0.0
	for done := false; !done; {
		var got []Neighbor
		got, done = b.Next(nil, 50, 20)
		for _, n := range got {
			if n.Dist < last || n.Dist != n.Rect.Distance(x, y) {
				return fmt.Errorf("%v at distance %v after %v", n.Rect, n.Dist, last)
			}
			last = n.Dist
			found[n.ID] = append(found[n.ID], n.Rect)
		}
	}
	if b.Err() != nil {
		return b.Err()
	}
	return w.judgeBrowse(lo, found)
}
