package store

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Kept records as a cache
//
// A put to a collection with a limit (RecordsOptions.MaxBytes) evicts records by second
// chance (kv/cache.go). In the log an eviction is a delete of its own, before the put, in the
// same commit: so a restart, and the other members of a group, have the same records. Those
// members choose no victims, since their Maps have other marks.
//
//	batch    put a        put b                put c
//	log      put a        delete x, delete y   put b, put c       one commit
//
// A batch holds puts of half the limit (write.weight), so that there is always
// something to evict that the batch does not write.

// shrinkAtOnce is how many records are evicted together from a collection that exceeds its
// limit: it was loaded with a smaller one than before, or has got keys of another group.
const shrinkAtOnce = 256

// eviction is a victim of a put, with the revision of its deletion.
type eviction struct {
	kv.Victim
	revision uint64
}

// room chooses what a put evicts, and notes how a write changes the bytes of its Map.
func (st *Store) room(w *write) error {
	limit := w.m.MaxBytes()
	if limit == 0 {
		return nil
	}
	q := &st.queue
	p := q.pending[pendingKey{w.m, w.id}]
	switch {
	case p == nil:
		w.grows = -w.m.Weigh(w.key)
	case p.kind == disk.Put:
		w.grows = -p.recordBytes()
	}
	if w.kind == disk.Delete {
		return nil
	}
	bytes := w.recordBytes()
	if err := w.m.Fits(w.key, bytes); err != nil {
		return err
	}
	w.grows += bytes
	if w.moved {
		return nil // The collection shrinks later.
	}
	// What exceeds the limit already is not for this put to evict.
	need := min(w.m.Bytes()+q.grown[w.m]+w.grows-limit, w.grows)
	if need <= 0 {
		return nil
	}
	for _, v := range w.m.Victims(need, math.MaxInt, func(key []byte) bool {
		return string(key) == w.id || q.pending[pendingKey{w.m, string(key)}] != nil || st.mayWrite(&write{id: string(key), key: key}) != nil
	}) {
		w.evicts = append(w.evicts, eviction{Victim: v})
		w.grows -= v.Bytes
		need -= v.Bytes
	}
	if need > 0 {
		return fmt.Errorf("%w: %q needs %d bytes more, and what could be evicted is moving to another group", fault.ErrBusy, w.id, need)
	}
	return nil
}

// recordBytes is what a put counts against the limit.
func (w *write) recordBytes() int64 {
	return kv.RecordBytes(len(w.id), len(w.value)-flagsBytes, w.expiry != 0)
}

// evicted numbers the victims of a write, before the write itself.
func (st *Store) evicted(w *write, more bool) {
	for i := range w.evicts {
		v := &w.evicts[i]
		v.revision = st.numbered + 1
		st.prepared(&write{rec: w.rec, m: w.m, kind: disk.Delete, id: string(v.Key), revision: v.revision}, more)
	}
	if w.grows != 0 && more {
		if st.queue.grown == nil {
			st.queue.grown = map[*kv.Map]int64{}
		}
		st.queue.grown[w.m] += w.grows
	}
}

// evictions are the log's entries.
func (c *Records) evictions(entries []disk.Entry, all []eviction) []disk.Entry {
	for _, v := range all {
		entries = append(entries, disk.Entry{Collection: c.num, Kind: disk.Delete, Flags: recordFlag, Key: v.Key, Revision: v.revision})
	}
	return entries
}

// shrink evicts some records of a Map that exceeds its limit, if this member may.
func (c *Records) shrink(m *kv.Map) {
	if m.Bytes() <= m.MaxBytes() || c.st.Reading(AtPrimary).Err() != nil || c.shrinking.Swap(true) {
		return
	}
	c.st.submit(&write{
		run:  func() error { return c.shrinkSome(m) },
		done: func(uint64, error) { c.shrinking.Store(false) }, // After an error it is tried again.
	})
}

func (c *Records) shrinkSome(m *kv.Map) error {
	st := c.st
	if c.dropped.Load() {
		return nil
	}
	var all []eviction
	for i, v := range m.Victims(m.Bytes()-m.MaxBytes(), shrinkAtOnce, func(key []byte) bool {
		return st.mayWrite(&write{id: string(key), key: key}) != nil
	}) {
		all = append(all, eviction{v, st.number() + uint64(i)})
	}
	if len(all) == 0 {
		return nil
	}
	if err := st.commit(c.evictions(nil, all)); err != nil {
		return err
	}
	for _, v := range all {
		if err := m.EvictAs(v.Key, v.revision); err != nil {
			return err
		}
	}
	return nil
}
