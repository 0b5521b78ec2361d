package peers

import (
	"fmt"

	"github.com/catfish-index/catfish/rstar"
)

var catfishPeer = Peer{
	Name: "catfish", Inserts: true, Loads: true, Deletes: true, Nearest: true,
	New: newCatfish,
}

// Address space of a tree: 256 bytes per object are ample, as inserts use 70,
// and untouched address space costs nothing. The floor is for small trees,
// where the reserve of a writer counts.
const (
	slabBytesPerObject = 256
	slabBytesFloor     = 16 << 20
)

type catfishIndex struct {
	t   *rstar.Tree
	buf []rstar.Item
}

func newCatfish(n int) (Index, error) {
	bytes := max(int64(n)*slabBytesPerObject, slabBytesFloor)
	t, err := rstar.New(rstar.Options{SlabBytes: bytes})
	if err != nil {
		return nil, err
	}
	return &catfishIndex{t: t}, nil
}

func (c *catfishIndex) Insert(items []rstar.Item) error {
	for i := range items {
		if err := c.t.Insert(items[i].Rect, items[i].ID); err != nil {
			return err
		}
	}
	return nil
}

func (c *catfishIndex) Load(items []rstar.Item) error { return c.t.Load(items) }

func (c *catfishIndex) Delete(items []rstar.Item) error {
	for i := range items {
		ok, err := c.t.Delete(items[i].Rect, items[i].ID)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("catfish: item %d is not in the tree", items[i].ID)
		}
	}
	return nil
}

func (c *catfishIndex) Search(qs []rstar.Rect) func(lo, hi int) Answer {
	return func(lo, hi int) Answer {
		var a Answer
		add := func(_ rstar.Rect, id uint64) bool {
			a.Count++
			a.Sum += id
			return true
		}
		for i := lo; i < hi; i++ {
			c.t.Search(qs[i], add)
		}
		return a
	}
}

func (c *catfishIndex) SearchAppend(qs []rstar.Rect) func(lo, hi int) Answer {
	return func(lo, hi int) Answer {
		var a Answer
		for i := lo; i < hi; i++ {
			c.buf = c.t.SearchAppend(c.buf[:0], qs[i], 0)
			a.Count += uint64(len(c.buf))
			for j := range c.buf {
				a.Sum += c.buf[j].ID
			}
		}
		return a
	}
}

func (c *catfishIndex) Nearest(at []rstar.Rect, k int) func(lo, hi int, ids []uint64) {
	return func(lo, hi int, ids []uint64) {
		n := 0
		take := func(_ rstar.Rect, id uint64, _ float64) bool {
			ids[n] = id
			n++
			return n%k != 0
		}
		for i := lo; i < hi; i++ {
			x, y := center(at[i])
			c.t.Nearest(x, y, take)
		}
	}
}

// OutsideBytes is the part of the slab that nodes have used, freed nodes
// included, as the tree keeps them.
func (c *catfishIndex) OutsideBytes() int64 { return c.t.Stats().UsedBytes }

func (c *catfishIndex) Close() error { return c.t.Close() }
