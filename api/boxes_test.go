package api

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// trees are fixed collections.
type trees map[string]Collection

// on is their Backend, with a host of calls.
func (b trees) on(h limits.Host) Backend {
	return Backend{Host: h, Collections: func() []string { return slices.Collect(maps.Keys(b)) }, Collection: func(name string) (Collection, error) {
		c, ok := b[name]
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrNoCollection, name)
		}
		return c, nil
	}}
}

// alone is their Backend without a host.
func (b trees) alone() Backend { return b.on(limits.Alone{Slots: limits.NewLongSlots()}) }

// treeOf has these items.
func treeOf(t testing.TB, items ...rstar.Item) *rstar.Tree {
	t.Helper()
	tree := newTree(t, rstar.Options{})
	if err := tree.Load(slices.Clone(items)); err != nil {
		t.Fatal(err)
	}
	return tree
}

// allOf are a tree's items, by id.
func allOf(tree *rstar.Tree) []rstar.Item {
	inf := math.Inf(1)
	items := tree.SearchAppend(nil, rstar.Rect{MinX: -inf, MinY: -inf, MaxX: inf, MaxY: inf}, 0)
	slices.SortFunc(items, func(a, b rstar.Item) int { return cmp.Compare(a.ID, b.ID) })
	return items
}

// faulty is a tree whose calls begin with before, the place to inject faults and to
// block calls. An error of it is the call's, where the call has one.
type faulty struct {
	*rstar.Tree
	before func(op string) error
}

func (f *faulty) Insert(r rstar.Rect, id uint64) error {
	if err := f.before("insert"); err != nil {
		return err
	}
	return f.Tree.Insert(r, id)
}

func (f *faulty) Delete(r rstar.Rect, id uint64) (bool, error) {
	if err := f.before("delete"); err != nil {
		return false, err
	}
	return f.Tree.Delete(r, id)
}

func (f *faulty) Update(old, new rstar.Rect, id uint64) (bool, error) {
	if err := f.before("update"); err != nil {
		return false, err
	}
	return f.Tree.Update(old, new, id)
}

func (f *faulty) Load(items []rstar.Item) error {
	if err := f.before("load"); err != nil {
		return err
	}
	return f.Tree.Load(items)
}

func (f *faulty) SearchSome(dst []rstar.Item, q rstar.Rect, limit, nodes int) ([]rstar.Item, *rstar.Scan) {
	_ = f.before("search") // A search has no error to return.
	return f.Tree.SearchSome(dst, q, limit, nodes)
}

// scanned is the oracle of these tests.
type scanned []rstar.Item

// search are the items that intersect q.
func (s scanned) search(q rstar.Rect) (found []rstar.Item) {
	for _, it := range s {
		if it.Rect.Intersects(q) {
			found = append(found, it)
		}
	}
	return found
}

// distances are those of all items from (x, y), ascending.
func (s scanned) distances(x, y float64) (d []float64) {
	for _, it := range s {
		d = append(d, it.Rect.Distance(x, y))
	}
	slices.Sort(d)
	return d
}
