package store

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/disk"
)

// restore makes the collections that the log has, and loads them: records by all
// processors, then each tree at once.
func (st *Store) restore(ctx context.Context) error {
	all, err := st.db.Collections()
	if err != nil {
		return err
	}
	for _, m := range all {
		st.next = max(st.next, m.Collection+1)
		var is metadata
		if err := json.Unmarshal(m.Metadata, &is); err != nil {
			return fmt.Errorf("%w: kind of collection %q: %w", ErrCorrupt, m.Name, err)
		}
		if is.Kind != "" {
			if err := st.restoreBoxes(ctx, m, is); err != nil {
				return fmt.Errorf("store: collection %q: %w", m.Name, err)
			}
			continue
		}
		var meta about
		if err := json.Unmarshal(m.Metadata, &meta); err != nil {
			return fmt.Errorf("%w: options of collection %q: %w", ErrCorrupt, m.Name, err)
		}
		c, err := st.make(m.Name, m.Collection, meta)
		if err != nil {
			return err
		}
		c.created = m.Created
		c.changed.Store(m.Changed)
		st.names[m.Name], st.nums[m.Collection] = c, c
		if err := st.load(ctx, c); err != nil {
			return fmt.Errorf("store: collection %q: %w", m.Name, err)
		}
	}
	return nil
}

// restoreBoxes makes a collection of boxes, and loads it. It drops the data of a bulk
// load that did not end.
func (st *Store) restoreBoxes(ctx context.Context, m disk.Meta, is metadata) error {
	switch {
	case is.Kind != boxesKind:
		return fmt.Errorf("%w: it is of kind %q, which this version does not know", ErrCorrupt, is.Kind)
	case is.Loading:
		err := st.commit([]disk.Entry{{Collection: m.Collection, Kind: disk.Drop, Revision: st.number()}})
		if err != nil { // The next start tries again.
			st.o.Logger.Warn("what a bulk load has left cannot be dropped", "collection", m.Name, "error", err)
		}
		return nil
	case st.names[m.Name] != nil || st.boxes[m.Name] != nil:
		return fmt.Errorf("%w: there are two of that name", ErrCorrupt)
	}
	c, err := st.makeBoxes(m.Name, m.Collection)
	if err != nil {
		return err
	}
	st.boxes[m.Name] = c
	return c.restore(ctx)
}

// load loads a collection.
func (st *Store) load(ctx context.Context, c *Collection) error {
	began := time.Now()
	workers := st.o.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	items := make([][]rstar.Item, workers)
	boxes := make([][]feature.Box, workers)
	schemas := make([]schema, workers)
	latest := make([]uint64, workers)
	s := c.set
	s.restoring = true
	err := st.db.Load(ctx, c.num, workers, func(w int, key, value []byte, revision uint64, expiry int64, flags uint16) error {
		v, err := feature.Parse(value)
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrCorrupt, key, err)
		}
		ref, err := s.m.Stage(kv.Entry{Key: key, Value: value, Expiry: time.Duration(expiry), Revision: revision, Flags: flags})
		if err != nil {
			return err
		}
		if err := s.m.Publish(key, ref); err != nil {
			return err
		}
		items[w] = s.itemsOf(items[w], &v, ref, &boxes[w])
		schemas[w].add(&v)
		latest[w] = max(latest[w], revision)
		return nil
	})
	if err != nil {
		return err
	}
	var all []rstar.Item
	for w := range items {
		all = append(all, items[w]...)
		items[w] = nil
	}
	s.nowhere.Store(countNowhere(s.space, nil, all))
	s.schema.join(schemas)
	c.revision.Store(slices.Max(latest))
	if err := s.tree.Load(all); err != nil {
		return err
	}
	s.restoring = false
	if n := s.m.Len(); n > 0 {
		st.o.Logger.Info("collection loaded", "collection", c.Name(), "features", n, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
