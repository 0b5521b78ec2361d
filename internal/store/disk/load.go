package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"
)

// Load calls f for each key of a collection, from several workers at a time, each
// with a number from 0 to workers - 1 and with one call at a time. It is one
// state, that of the call of Load; the order is that of keys only in parts. Key
// and value are f's until it returns. The first error ends it, and is returned.
// ErrNoLog: with Options.IDsOnly there are no values.
func (db *DB) Load(ctx context.Context, collection uint32, workers int,
	f func(worker int, key, value []byte, revision uint64, expiry int64, flags uint16) error) error {
	if workers < 1 {
		return fmt.Errorf("%w: %d workers", ErrOptions, workers)
	}
	if db.o.IDsOnly {
		return fmt.Errorf("%w, nor values", ErrNoLog)
	}
	e, iters, err := db.reader()
	if err != nil {
		return err
	}
	defer e.release()
	it, err := iters(nil)
	db.mu.Unlock()
	if err != nil {
		return err
	}
	// Clones see what the first iterator sees.
	later, err := readOverlay(func(o *pebble.IterOptions) (*pebble.Iterator, error) {
		return it.Clone(pebble.CloneOptions{IterOptions: o})
	}, collection)
	if err != nil {
		return corrupt(errors.Join(err, it.Close()))
	}
	parts, err := divide(e.DB, collectionKey(statePrefix, collection), collectionEnd(statePrefix, collection))
	if err != nil {
		return corrupt(errors.Join(err, it.Close()))
	}
	next := make(chan part, len(parts))
	for _, p := range parts {
		next <- p
	}
	close(next)
	g, ctx := errgroup.WithContext(ctx)
	for w := range min(workers, len(parts)) {
		g.Go(func() error {
			for p := range next {
				if err := loadPart(ctx, it, p, later, w, f); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return corrupt(errors.Join(g.Wait(), it.Close()))
}

// A part is a range of keys, from the first to before the second.
type part struct{ from, to []byte }

// divide splits a range where the tables of Pebble begin, so that the parts have
// about the size of tables, or less.
func divide(p *pebble.DB, from, to []byte) ([]part, error) {
	levels, err := p.SSTables()
	if err != nil {
		return nil, err
	}
	cuts := [][]byte{from, to}
	for _, tables := range levels {
		for i := range tables {
			if k := tables[i].Smallest.UserKey; bytes.Compare(k, from) > 0 && bytes.Compare(k, to) < 0 {
				cuts = append(cuts, bytes.Clone(k))
			}
		}
	}
	slices.SortFunc(cuts, bytes.Compare)
	cuts = slices.CompactFunc(cuts, bytes.Equal)
	parts := make([]part, 0, len(cuts)-1)
	for i := range len(cuts) - 1 {
		parts = append(parts, part{cuts[i], cuts[i+1]})
	}
	return parts, nil
}

// A load checks whether it must end each checkEvery keys.
const checkEvery = 1024

func loadPart(ctx context.Context, whole *pebble.Iterator, p part, later overlay, worker int,
	f func(int, []byte, []byte, uint64, int64, uint16) error) (err error) {
	it, err := whole.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{LowerBound: p.from, UpperBound: p.to}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		if n++; n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		_, key, err := parseCollection(it.Key())
		if err != nil {
			return err
		}
		value, revision, expiry, flags, err := parseState(it.Value())
		if err != nil {
			return fmt.Errorf("key %q: %w", key, err)
		}
		if l := later[string(key)]; l != nil {
			value, revision, expiry, flags = l.Value, l.Revision, l.Expiry, l.Flags
		}
		if err := f(worker, key, value, revision, expiry, flags); err != nil {
			return err
		}
	}
	return errors.Join(corrupt(it.Error()), ctx.Err())
}
