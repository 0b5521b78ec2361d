package api

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// fake is a Collection that scans a slice: the oracle of these tests, and the
// place to inject faults and to block calls.
type fake struct {
	mu    sync.Mutex
	items []rstar.Item

	// before, if set, runs first in every call, without the lock held; its
	// error becomes the call's, where the call has one.
	before func(op string) error
}

func (f *fake) enter(op string) error {
	if f.before == nil {
		return nil
	}
	return f.before(op)
}

func (f *fake) Insert(r rstar.Rect, id uint64) error {
	if err := f.enter("insert"); err != nil {
		return err
	}
	if err := r.Validate(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items = append(f.items, rstar.Item{Rect: r, ID: id})
	return nil
}

func (f *fake) Delete(r rstar.Rect, id uint64) (bool, error) {
	if err := f.enter("delete"); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.items, rstar.Item{Rect: r, ID: id})
	if i < 0 {
		return false, nil
	}
	f.items = slices.Delete(f.items, i, i+1)
	return true, nil
}

func (f *fake) Update(old, new rstar.Rect, id uint64) (bool, error) {
	if err := f.enter("update"); err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.items, rstar.Item{Rect: old, ID: id})
	if i < 0 {
		return false, nil
	}
	f.items[i].Rect = new
	return true, nil
}

func (f *fake) Load(items []rstar.Item) error {
	if err := f.enter("load"); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.items); n > 0 {
		return fmt.Errorf("%w: it has %d objects", rstar.ErrNotEmpty, n)
	}
	f.items = slices.Clone(items)
	return nil
}

func (f *fake) SearchAppend(dst []rstar.Item, q rstar.Rect, limit int,
) []rstar.Item {
	_ = f.enter("search") // A search has no error to return.
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(dst)
	for _, it := range f.items {
		if len(dst)-n == limit {
			break
		}
		if it.Rect.Intersects(q) {
			dst = append(dst, it)
		}
	}
	return dst
}

func (f *fake) SearchSome(dst []rstar.Item, q rstar.Rect, limit, _ int,
) ([]rstar.Item, *rstar.Scan) {
	return f.SearchAppend(dst, q, limit), nil
}

func (f *fake) SearchManySome(qs []rstar.Rect, _ int,
	yield func(query int, r rstar.Rect, id uint64) bool,
) (int, *rstar.Scan) {
	for i, q := range qs {
		for _, it := range f.SearchAppend(nil, q, f.Len()+1) {
			if !yield(i, it.Rect, it.ID) {
				return i, nil
			}
		}
	}
	return len(qs), nil
}

func (f *fake) CountSome(q rstar.Rect, _ int) (int, *rstar.Scan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, it := range f.items {
		if it.Rect.Intersects(q) {
			n++
		}
	}
	return n, nil
}

// distances are those of all objects from (x, y), ascending.
func (f *fake) distances(x, y float64) []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var d []float64
	for _, it := range f.items {
		d = append(d, it.Rect.Distance(x, y))
	}
	slices.Sort(d)
	return d
}

// Browse is that of a tree, the only implementation.
func (f *fake) Browse(x, y float64) *rstar.Browse {
	f.mu.Lock()
	defer f.mu.Unlock()
	tree, err := rstar.New(rstar.Options{Memory: make([]byte, 1<<20+100*len(f.items))})
	if err == nil {
		err = tree.Load(f.items)
	}
	if err != nil {
		panic(err)
	}
	return tree.Browse(x, y)
}

func (f *fake) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.items)
}

func (f *fake) Stats() rstar.Stats { return rstar.Stats{Len: f.Len()} }

// trees are fixed collections.
type trees map[string]Collection

// on is their Backend, with a host of calls.
func (b trees) on(h Host) Backend {
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

func (f *fake) Closed() bool { return false }
