package disk

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Commit writes entries as one batch, to state and log, and returns when they are
// durable as Options.Sync has it. Their revisions must follow Revision() without a
// gap. Their bytes are not kept.
//
// After any error but ErrInDoubt none of the entries is on disk, now or later. With
// ErrReadOnly and ErrClosed the same entries may be right another time; with
// ErrEntry never. If a write fails in a way that leaves it open whether the batch
// is on disk, Commit waits until that is known, which may be until the disk can be
// written again; readers do not wait meanwhile, and Healthy reports it.
func (db *DB) Commit(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := db.Healthy(); err != nil {
		return err // Without waiting for a Commit that waits.
	}
	db.commits <- struct{}{}
	defer func() { <-db.commits }()
	db.mu.Lock()
	err, e := db.healthy(), db.engine
	db.mu.Unlock()
	if err != nil {
		return err
	}
	steps, collections, err := e.check(db.steps[:0], entries, db.revision.Load())
	if err != nil {
		return err
	}
	db.steps = steps[:0]
	if err := db.throttle(e, steps); err != nil {
		return err
	}
	if !e.lag.on && slices.ContainsFunc(entries, lags) {
		if err := db.Require(lagFormat); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(entries, ofGroup) {
		if err := db.Require(groupFormat); err != nil {
			return err
		}
	}
	b := e.NewBatch()
	defer b.Close()
	from, to, trim := e.kept.excess()
	first, before, back := e.lag.due(to, db.revision.Load())
	if back > 0 {
		if err := e.writeBack(b, first, before); err != nil {
			return err
		}
	}
	if trim {
		if err := db.durableUpTo(e, to); err != nil {
			return fmt.Errorf("%w: %w", ErrReadOnly, err)
		}
		if err := b.DeleteRange(logKey(from), logKey(to), nil); err != nil {
			return err
		}
	}
	if db.seals != nil {
		db.sealing = db.seals.appendLast(db.sealing[:0])
		_ = b.LogData(db.sealing, nil) // It is memory.
	}
	db.stageAll(e, b, entries, steps)
	terms, more := appendTerms(e.terms, entries)
	if more {
		setTerms(b, terms)
	}
	if in, err := db.write(e, b, db.mark(&entries[len(entries)-1])); !in {
		return err
	}
	if db.engine != e { // Replaced, and found on disk.
		return nil
	}
	if trim {
		e.kept.trim()
	}
	if back > 0 {
		e.lag.wroteBack(back)
	}
	db.added(e, entries, steps)
	e.collections = collections
	if more {
		db.mu.Lock()
		e.terms = terms
		db.mu.Unlock()
	}
	db.o.counters.logBytes.Store(e.kept.bytes)
	return nil
}

// mark returns the mark of an entry. The committer calls it.
func (db *DB) mark(n *Entry) mark {
	if db.o.IDsOnly {
		return mark{revision: n.Revision}
	}
	return mark{n.Revision, n.sum(&db.digest)}
}

// write commits a batch that ends with an entry, and returns whether it is in.
func (db *DB) write(e *engine, b *pebble.Batch, last mark) (in bool, err error) {
	if !db.o.Sync.always() {
		// It is acknowledged as soon as it can be read. If it is in memory only,
		// as the database is frozen, it will be written again.
		if err := b.Commit(pebble.NoSync); err != nil {
			e.g.freeze(err)
			return false, fmt.Errorf("%w: %w", ErrReadOnly, err)
		}
		db.end.store(last)
		db.revision.Store(last.revision)
		return true, nil
	}
	// Readers keep to the state before, as Pebble shows a batch before it is
	// durable. An iterator is a cheaper view than a snapshot, at whose end Pebble
	// looks for work.
	before, err := e.NewIter(nil)
	if err != nil {
		return false, err
	}
	db.mu.Lock()
	db.before = before
	db.mu.Unlock()
	if err := b.Commit(pebble.Sync); err != nil {
		e.g.freeze(err)
	}
	if e.g.cause() != nil { // Then the sync may have been left out.
		err := db.settle(last.revision)
		return err == nil, err
	}
	if err := db.seals.seal(last); err != nil {
		e.g.freeze(err) // This batch is durable; there is no next one without a seal.
	}
	db.mu.Lock()
	db.before = nil
	db.end.store(last)
	db.revision.Store(last.revision)
	db.durable.Store(last.revision)
	db.mu.Unlock()
	return true, before.Close()
}

// A step is the result of check for an entry.
type step struct {
	bytes int64 // in the log
	meta  Meta  // of Create and Alter: the collection after it
}

// check looks at entries before anything is written. It appends to steps, and
// returns the collections after all of them.
func (e *engine) check(steps []step, entries []Entry, last uint64) ([]step, map[uint32]Meta, error) {
	collections, copied, total := e.collections, false, int64(0)
	for i := range entries {
		n := &entries[i]
		if err := n.validate(); err != nil {
			return nil, nil, err
		}
		if last >= math.MaxUint64-1 || n.Revision != last+1 {
			return nil, nil, fmt.Errorf("%w: revision %d after %d", ErrEntry, n.Revision, last)
		}
		last++
		s := step{bytes: n.logBytes()}
		if total += s.bytes; total > MaxBatchBytes {
			return nil, nil, fmt.Errorf("%w: a batch of more than %d bytes, at revision %d", ErrEntry, MaxBatchBytes, n.Revision)
		}
		if n.Kind == Term {
			steps = append(steps, s)
			continue
		}
		m, known := collections[n.Collection]
		if known == (n.Kind == Create) {
			return nil, nil, fmt.Errorf("%w: revision %d: %v in collection %d, known: %v", ErrEntry, n.Revision, n.Kind, n.Collection, known)
		}
		if n.Kind != Put && n.Kind != Delete {
			if !copied {
				collections, copied = maps.Clone(collections), true
			}
			if n.Kind == Drop {
				delete(collections, n.Collection)
			} else {
				if n.Kind == Create {
					m.Created = n.Revision
				}
				s.meta = Meta{Collection: n.Collection, Created: m.Created, Changed: n.Revision,
					Name: string(n.Key), Metadata: bytes.Clone(n.Value)}
				collections[n.Collection] = s.meta
			}
		}
		steps = append(steps, s)
	}
	return steps, collections, nil
}

func lags(n Entry) bool { return n.lags() }

func ofGroup(n Entry) bool { return n.Kind == Term || n.Client != 0 }

// stageAll adds entries to a batch.
func (db *DB) stageAll(e *engine, b *pebble.Batch, entries []Entry, steps []step) {
	if i := slices.IndexFunc(entries, lags); i >= 0 && !e.lag.on {
		setApplied(b, entries[i].Revision-1) // Earlier entries are in state, too.
	}
	for i := range entries {
		db.stage(b, &entries[i], steps[i].meta)
	}
}

// added counts entries that are in the log.
func (db *DB) added(e *engine, entries []Entry, steps []step) {
	if db.o.IDsOnly {
		return
	}
	for i := range entries {
		e.kept.add(entries[i].Revision, steps[i].bytes)
		e.lag.add(&entries[i])
	}
}

// stage adds an entry to a batch: its effect on state, and the log's record.
// Batches are memory, so what is added cannot fail.
func (db *DB) stage(b *pebble.Batch, n *Entry, m Meta) {
	switch n.Kind {
	case Put:
		switch {
		case db.o.IDsOnly:
			op := b.SetDeferred(collectionBytes+len(n.Key), 0)
			putCollectionKey(op.Key, n)
			_ = op.Finish()
		case !n.lags():
			stageState(b, n)
		}
	case Delete:
		op := b.DeleteDeferred(collectionBytes + len(n.Key))
		putCollectionKey(op.Key, n)
		_ = op.Finish()
	case Create, Alter:
		_ = b.Set(collectionKey(metaPrefix, n.Collection), m.encode(), nil)
	case Drop:
		_ = b.Delete(collectionKey(metaPrefix, n.Collection), nil)
		_ = b.DeleteRange(collectionKey(statePrefix, n.Collection), collectionEnd(statePrefix, n.Collection), nil)
	}
	if db.o.IDsOnly {
		return
	}
	op := b.SetDeferred(logKeyBytes, int(n.logBytes())-logKeyBytes)
	op.Key[0] = logPrefix
	binary.BigEndian.PutUint64(op.Key[1:], n.Revision)
	n.put(op.Value)
	_ = op.Finish()
}

// stageState adds the state of a Put to a batch.
func stageState(b *pebble.Batch, n *Entry) {
	op := b.SetDeferred(collectionBytes+len(n.Key), stateHeader+len(n.Value))
	putCollectionKey(op.Key, n)
	putStateHeader(op.Value, n.Revision, n.Expiry, n.Flags)
	copy(op.Value[stateHeader:], n.Value)
	_ = op.Finish()
}

func putCollectionKey(k []byte, n *Entry) {
	k[0] = statePrefix
	binary.BigEndian.PutUint32(k[1:], n.Collection)
	copy(k[collectionBytes:], n.Key)
}
