package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// Bulk load of kept boxes
//
// All or nothing, also if the process is killed during the load, and whatever the
// number of boxes, which may exceed one batch of the log. So the boxes are written
// under a new collection number, which becomes that of the collection at the end, by
// one batch:
//
//	old number   | empty .................................. | dropped
//	new number   | created, loading | boxes | boxes | ..... | is the collection
//	                                                        ^ one batch, and then
//	                                                          the tree is loaded
//
// A collection that is still loading when a store is opened is dropped, and in a group when
// a member becomes the primary (leftload.go). Each step is a
// batch of its own in the commit queue, so other writes go between. A write to the
// collection meanwhile wins: the load finds it at the end, and fails with ErrNotEmpty.

// loadAtOnce is the number of boxes in one batch: 4 MB of the log.
const loadAtOnce = 32 << 10

// Load fills an empty collection, all or nothing, and returns when that is durable.
// items are neither changed nor kept. Memory: about 20 bytes for each item meanwhile.
// The last step keeps other writes of the store waiting while the tree is built. The
// error wraps rstar.ErrBadRect, ErrNotEmpty, ErrSlabFull, disk.ErrReadOnly, ErrClosed,
// ErrUnknownCollection, or in a group fault.ErrNotPrimary (another member became the
// primary meanwhile) or fault.ErrTooFewInSync; then nothing was changed.
func (c *Boxes) Load(items []rstar.Item) error {
	for i, it := range items {
		if err := it.Rect.Validate(); err != nil {
			return fmt.Errorf("item %d, id %d: %w", i, it.ID, err)
		}
	}
	// Before anything is written. The last step checks it again.
	switch room := c.tree.LoadRoom(); {
	case c.dropped.Load():
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, c.name)
	case c.tree.Len() > 0:
		return fmt.Errorf("%w: it has %d objects", rstar.ErrNotEmpty, c.tree.Len())
	case len(items) == 0:
		return nil
	case len(items) > room && !c.tree.Closed():
		return fmt.Errorf("%w: %d boxes, and there is room for %d", rstar.ErrSlabFull, len(items), room)
	}
	st := c.st
	num := st.newNumber()
	if err := c.beginLoad(num); err != nil {
		return err
	}
	more, err := c.writeAll(num, items)
	if err == nil {
		err = st.runAlone(func() error { return c.become(num, items, more) })
	}
	if err != nil {
		// If this fails, too, the next start or primary drops the new number.
		if left := st.dropLoad(num); left != nil {
			st.o.Logger.Warn("what a bulk load has left on disk is dropped later", "collection", c.name, "error", left)
		}
	}
	return err
}

// beginLoad makes a new number for what is loaded.
func (c *Boxes) beginLoad(num uint32) error {
	st := c.st
	return st.runAlone(func() error {
		if c.dropped.Load() {
			return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, c.name)
		}
		err := st.commit([]disk.Entry{{
			Collection: num, Kind: disk.Create, Key: []byte(c.name),
			Value: metadata{Kind: boxesKind, Loading: true}.encode(), Revision: st.number(),
		}})
		if err == nil {
			st.loads[num] = true
		}
		return err
	})
}

// writeAll writes boxes under a number, in the order of keys, so that equal ones
// are adjacent. It returns those that exist more than once.
func (c *Boxes) writeAll(num uint32, items []rstar.Item) (more map[rstar.Item]uint64, err error) {
	order := make([]uint32, len(items)) // A tree holds no more than its range.
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return compareBoxes(&items[a], &items[b]) })
	more = map[rstar.Item]uint64{}
	var counts []boxCount
	var entries []disk.Entry
	flush := func() error {
		if len(counts) == 0 {
			return nil
		}
		return c.st.runAlone(func() error {
			if err := c.st.stillLoads(num); err != nil {
				return err
			}
			entries = appendBoxEntries(entries[:0], num, counts, c.st.number(), false)
			counts = counts[:0]
			return c.st.commit(entries)
		})
	}
	for i := 0; i < len(order); {
		it, from := items[order[i]], i
		for i < len(order) && items[order[i]] == it {
			i++
		}
		if counts = append(counts, boxCount{it, uint64(i - from)}); i-from > 1 {
			more[it] = uint64(i - from - 1)
		}
		if len(counts) == loadAtOnce {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return more, flush()
}

// compareBoxes orders boxes by id, and makes equal ones adjacent.
func compareBoxes(a, b *rstar.Item) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID),
		cmp.Compare(a.Rect.MinX, b.Rect.MinX), cmp.Compare(a.Rect.MinY, b.Rect.MinY),
		cmp.Compare(a.Rect.MaxX, b.Rect.MaxX), cmp.Compare(a.Rect.MaxY, b.Rect.MaxY))
}

// become makes the boxes written under a number the collection. The commit leader calls
// it.
func (c *Boxes) become(num uint32, items []rstar.Item, more map[rstar.Item]uint64) error {
	st := c.st
	switch {
	case c.dropped.Load():
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, c.name)
	case c.tree.Len() > 0:
		return fmt.Errorf("%w: it has %d objects", rstar.ErrNotEmpty, c.tree.Len())
	}
	if err := st.stillLoads(num); err != nil {
		return err
	}
	// A move follows the collection's number; and ranges may have moved since these boxes were chosen.
	if err := st.still(); err != nil {
		return err
	}
	w := &write{id: c.name}
	for _, it := range items {
		if err := st.mayWriteBox(w, it.Rect, true); err != nil {
			return err
		}
	}
	next := st.number()
	name, meta := []byte(c.name), metadata{Kind: boxesKind}.encode()
	entries := []disk.Entry{
		{Collection: c.num, Kind: disk.Drop, Revision: next},
		{Collection: num, Kind: disk.Alter, Key: name, Value: meta, Revision: next + 1},
	}
	st.joinEntries(entries)
	err := st.commit(entries)
	if err != nil {
		return err
	}
	if err := c.tree.Load(items); err != nil {
		// It is in the log, and not in the tree: the old, empty one is the
		// collection again, and the caller drops the new one.
		next = st.number()
		undo := st.commit([]disk.Entry{
			{Collection: c.num, Kind: disk.Create, Key: name, Value: meta, Revision: next},
			{Collection: num, Kind: disk.Alter, Key: name, Value: metadata{Kind: boxesKind, Loading: true}.encode(), Revision: next + 1},
		})
		if undo != nil {
			st.o.Logger.Error("a bulk load is in the log, but could not be carried out or undone", "collection", c.name, "error", undo)
		}
		return err
	}
	c.num, c.more = num, more
	delete(st.loads, num)
	return nil
}
