package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// restore makes the collections that the log has, loads them, and then enters them all:
// records by all processors, then each tree at once.
func (st *Store) restore(ctx context.Context) (err error) {
	metas, err := st.db.Collections()
	if err != nil {
		return err
	}
	var all []*Entry
	defer func() {
		if err != nil {
			for _, e := range all {
				st.naming.Lock()
				st.end(e)
				st.naming.Unlock()
				st.free(e)
			}
		}
	}()
	for _, m := range metas {
		e, err := st.restoreOne(ctx, m)
		if err != nil {
			return fmt.Errorf("store: collection %q: %w", m.Name, err)
		}
		if e != nil {
			all = append(all, e)
		}
	}
	return st.adopt(all)
}

// restoreOne makes a collection, and loads it. It returns nil for the data of a bulk load
// that did not end, which it drops; in a group the primary does.
func (st *Store) restoreOne(ctx context.Context, m disk.Meta) (*Entry, error) {
	e, err := st.fromLog(m)
	if err != nil {
		return nil, err
	}
	if e == nil {
		if st.o.Replicated {
			st.loads[m.Collection] = false
		} else {
			if err := st.commitDrop(Name{}, m.Collection); err != nil { // The next start tries again.
				st.o.Logger.Warn("what a bulk load has left cannot be dropped", "collection", m.Name, "error", err)
			}
		}
		return nil, nil
	}
	switch {
	case e.Boxes != nil:
		err = e.Boxes.restore(ctx)
	case e.Kept != nil:
		err = e.Kept.restore(ctx)
	default:
		err = st.load(ctx, e.Features)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// fromLog makes an empty collection of the log's; nil: one that is being loaded in bulk.
func (st *Store) fromLog(m disk.Meta) (_ *Entry, err error) {
	st.next.Store(max(st.next.Load(), m.Collection))
	var is metadata
	var texts about
	if err := cmp.Or(json.Unmarshal(m.Metadata, &is), json.Unmarshal(m.Metadata, &texts)); err != nil {
		return nil, fmt.Errorf("%w: its kind and options: %w", ErrCorrupt, err)
	}
	s := Spec{Features: texts.CollectionOptions}
	switch {
	case is.Kind == "":
	case is.Kind == recordsKind:
		if s, err = is.records(); err != nil {
			return nil, err
		}
	case is.Kind != boxesKind:
		return nil, fmt.Errorf("%w: it is of kind %q, which this version does not know", ErrCorrupt, is.Kind)
	case is.Loading:
		return nil, nil
	default:
		s = Spec{Kind: KindBoxes, Keep: true}
	}
	of, named := st.spec(m.Name)
	if s.Kind == KindRecords && of.Kind == KindRecords && of.Records.MaxBytes != 0 {
		s.Records.MaxBytes = of.Records.MaxBytes // The collection shrinks, if it has to.
	}
	e := st.newEntry(m.Name, &s)
	e.restored = !named
	if err := st.build(e, &s); err != nil {
		return nil, err
	}
	switch {
	case e.Boxes != nil:
		e.Boxes.num = m.Collection
	case e.Kept != nil:
		e.Kept.num = m.Collection
	default:
		c := e.Features
		c.num, c.created = m.Collection, m.Created
		c.changed.Store(m.Changed)
		if texts.Created != 0 {
			c.since = time.Unix(0, int64(texts.Created)).UTC()
		}
	}
	return e, nil
}

// adopt enters collections that were restored.
func (st *Store) adopt(all []*Entry) error {
	st.naming.Lock()
	defer st.naming.Unlock()
	for _, e := range all {
		switch other := st.named(e.Name); {
		case other == nil:
		case other.durable():
			return fmt.Errorf("%w: there are two of the name %q", ErrCorrupt, e.Name)
		case other.Kind != e.Kind:
			return fmt.Errorf("%w: collection %q is one of %s, and the store has one of %s", fault.ErrKind, e.Name, other.Kind, e.Kind)
		default:
			return fmt.Errorf("%w: collection %q is kept in the data directory, and to be in memory alone: keep it (Options.Keep, serve --keep or --keep-records), or name another",
				ErrCollectionExists, e.Name)
		}
		if err := st.giveNumbers(e); err != nil {
			return err
		}
		st.enter(e)
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
