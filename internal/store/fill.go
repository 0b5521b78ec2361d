package store

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// Filling
//
// A tree that grows by insertions has leaves that are some 63 % full, 80 bytes a
// feature. One that is built of all its entries at once (rstar.Tree.Load) has 47, and
// is built sooner. So a caller with many features for an empty collection says so, and
// the tree is built when all features are in:
//
//	begin, commit leader   the collection is empty: follow only counts from now on
//	put .. put .. put      the commit queue, the log, records and key index as ever
//	end, commit leader     no write is in flight, and the Map's lock is held:
//	                       all records' entries, the tree, follow follows again
//
// A record that is moved (kv.Map.Tidy) moves under the Map's lock: before the end, and
// then the key index leads to its new place; or after it, and then the tree follows.
//
// If the process ends during a fill, the log has the writes that were acknowledged, as
// after other writes.

// Fill calls put, which stores features in the collection, in any way and by any number
// of goroutines, and then builds the tree of them. The collection must be empty
// (rstar.ErrNotEmpty). Until Fill returns features are found by id only, and searches
// by area find none: callers should not search. The end keeps other writes of the store
// waiting, 1 s for a million features. Memory: 60 bytes for each feature meanwhile.
//
// What was stored stays, also if put fails, whose error is returned. Any other error
// says that the tree could not be built: then the features are still found by id only.
func (c *Collection) Fill(put func() error) error {
	if err := c.use(); err != nil {
		return err
	}
	defer c.using.leave()
	if err := c.st.runAlone(c.set.beginFill); err != nil {
		return fmt.Errorf("store: collection %q: %w", c.Name(), err)
	}
	err := put()
	if end := c.st.runAlone(c.set.endFill); end != nil {
		return errors.Join(err, fmt.Errorf("store: collection %q: the tree of its features cannot be built: %w", c.Name(), end))
	}
	return err
}

// beginFill is called by the commit leader.
func (s *set) beginFill() error {
	if n := s.m.Len(); n > 0 || s.loading {
		return fmt.Errorf("%w: it has %d features, or is being filled", rstar.ErrNotEmpty, n)
	}
	s.loading = true
	s.toLoad.Store(0)
	s.loadRoom = s.tree.LoadRoom()
	return nil
}

// endFill is called by the commit leader.
func (s *set) endFill() error {
	all := make([]rstar.Item, 0, s.toLoad.Load())
	return s.m.Walk(func(refs []record.Ref) (err error) {
		for _, ref := range refs {
			s.m.Prefetch(ref)
		}
		for _, ref := range refs {
			if all, _, err = s.items(all, ref); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		if err := s.changes.everywhere(func() error { return s.tree.Load(all) }); err != nil {
			return err
		}
		s.loading = false
		return nil
	})
}

// room reports whether the tree surely has room for n more boxes.
func (s *set) room(n int) error {
	if !s.loading {
		return s.tree.RoomFor(n)
	}
	if all := int(s.toLoad.Load()) + n; all > s.loadRoom {
		return fmt.Errorf("%w: %d boxes, and there is room for %d", rstar.ErrSlabFull, all, s.loadRoom)
	}
	return nil
}
