package store

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rstar"
)

// restore makes the collections that the log has, and loads them: records by all
// processors, then each tree at once.
func (st *Store) restore(ctx context.Context) error {
	all, err := st.db.Collections()
	if err != nil {
		return err
	}
	for _, m := range all {
		var o CollectionOptions
		if err := json.Unmarshal(m.Metadata, &o); err != nil {
			return fmt.Errorf("%w: options of collection %q: %w", ErrCorrupt, m.Name, err)
		}
		c, err := st.make(m.Name, m.Collection, o)
		if err != nil {
			return err
		}
		c.created = m.Created
		st.names[m.Name], st.nums[m.Collection] = c, c
		st.next = max(st.next, m.Collection+1)
		if err := st.load(ctx, c); err != nil {
			return fmt.Errorf("store: collection %q: %w", m.Name, err)
		}
	}
	return nil
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
	several := make([]int64, workers)
	s := c.set
	s.loading = true
	err := st.db.Load(ctx, c.num, workers, func(w int, key, value []byte, revision uint64, expiry int64, flags uint16) error {
		v, err := feature.Parse(value)
		if err != nil {
			return fmt.Errorf("%w: %q: %w", ErrCorrupt, key, err)
		}
		ref, err := s.m.Stage(kv.Entry{Key: key, Value: value, Expiry: duration(expiry), Revision: revision, Flags: flags})
		if err != nil {
			return err
		}
		if err := s.m.Publish(key, ref); err != nil {
			return err
		}
		boxes[w] = v.Boxes(boxes[w][:0])
		for _, b := range boxes[w] {
			items[w] = append(items[w], rstar.Item{Rect: rstar.Rect(b), ID: uint64(ref)})
		}
		if len(boxes[w]) > 1 {
			several[w]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	var all []rstar.Item
	for w := range items {
		all = append(all, items[w]...)
		items[w] = nil
		s.several.Add(several[w])
	}
	if err := s.tree.Load(all); err != nil {
		return err
	}
	s.loading = false
	if n := s.m.Len(); n > 0 {
		st.o.Logger.Info("collection loaded", "collection", c.name, "features", n, "took", time.Since(began).Round(time.Millisecond))
	}
	return nil
}
