package kv

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// Options configure a Map.
type Options struct {
	// Memory of the index, and of the records: zeroed, aligned to pages, sparse.
	// That of the records is a multiple of record.SpanBytes.
	Index, Records []byte
	// Boot is a number that no other Map had, of this server or another one.
	Boot uint64
	// Seed of the hash of keys.
	Seed uint64
	// Revision is that of the last write before; the first write gets the next one.
	Revision uint64
	// Table and Items configure the index: see cuckoo.New and cuckoo.Options.
	Table cuckoo.Kind
	Items int
	// Now is the time since some moment, never going back; expiry counts in it,
	// in nanoseconds.
	Now func() time.Duration
	// GrowIndex and GrowRecords make the memory of the two usable piece by
	// piece (cuckoo.Options.Grow, record.Options.Grow). They are called under
	// the Map's lock. A write that needs more than they give fails with
	// cuckoo.ErrFull or record.ErrFull, and their error.
	GrowIndex, GrowRecords func(bytes int64) (usable int64, err error)
	// Follow, if not nil, is called with each change of a key's reference, so that
	// another holder of references can change them: from 0 if the key had none before,
	// to 0 if it has none after. It is called under the Map's lock, after the key index
	// has changed and before the old record is dead. Map.Read reads both records. It
	// must not call other methods. If it fails, the write is undone, and fails with its
	// error.
	Follow func(from, to record.Ref) error
	// Expired, if not nil, is called with records that have expired, under the Map's
	// lock, and they stay, unseen, until the caller deletes them. nil: they are
	// deleted.
	Expired func(key []byte, revision uint64)
	// MaxBytes, if not 0, makes the Map a cache (cache.go): it is the limit of its records'
	// bytes, as RecordBytes counts them, and a Put evicts others.
	MaxBytes int64
	// GiveBack may return pages of either memory to the system. They read as zeros
	// from then on.
	GiveBack func([]byte)
}

// Map is a collection of records by key. All methods are safe for concurrent use:
// writes take a lock, Get does not.
type Map struct {
	now   func() time.Duration
	seed  uint64
	heap  *record.Heap
	index cuckoo.Index

	follow  func(from, to record.Ref) error // nil: no follower
	expired func(key []byte, revision uint64)

	gate  gate
	cache *cache // nil: the Map has no limit

	mu       sync.Mutex
	revision uint64   // of the last write
	refs     []uint64 // scratch of find
	expiring cuckoo.Cursor
	mortal   int // records that expire
	looks    []indexed
	look     func(hash, ref uint64)         // appends to looks; made once: a closure allocates
	wasFull  time.Duration                  // when makeRoom was last called
	joined   struct{ record, value []byte } // scratch of join and equals
	awaited  map[string][]*waiter           // by key: see await.go
	waiters  int
	counts   Stats
}

// New makes an empty Map.
func New(o Options) (*Map, error) {
	if o.Now == nil {
		return nil, fmt.Errorf("%w: no clock", ErrOptions)
	}
	var release func(offset, bytes uint64)
	if page := uint64(os.Getpagesize()); o.GiveBack != nil {
		release = func(from, bytes uint64) {
			to := (from + bytes) / page * page
			if from = (from + page - 1) / page * page; from < to {
				o.GiveBack(o.Index[from:to])
			}
		}
	}
	index, err := cuckoo.New(o.Table, o.Index, cuckoo.Options{
		Items: o.Items, Seed: o.Seed, BootID: o.Boot, Grow: o.GrowIndex, Release: release,
	})
	if err != nil {
		return nil, fmt.Errorf("kv: %w", err)
	}
	heap, err := record.New(record.Options{
		Memory: o.Records, Boot: o.Boot, Grow: o.GrowRecords, GiveBack: o.GiveBack,
	})
	if err != nil {
		return nil, fmt.Errorf("kv: %w", err)
	}
	for _, mem := range [][]byte{o.Index, o.Records} {
		// What stays small keeps small pages, of which it takes what it touches.
		mapped.AdviseHuge(mem[min(mapped.HugeBytes, len(mem)):])
	}
	m := &Map{now: o.Now, seed: o.Seed, heap: heap, index: index, revision: o.Revision,
		follow: o.Follow, expired: o.Expired}
	m.look = func(hash, ref uint64) { m.looks = append(m.looks, indexed{hash, record.Ref(ref)}) }
	if o.MaxBytes > 0 {
		m.cache = newCache(o.MaxBytes, len(o.Records))
	}
	return m, nil
}

// Space is what readers of the records need to know. Its Bytes are all of the memory; a
// server sends remote readers the number of bytes that are registered.
func (m *Map) Space() record.Space { return m.heap.Space() }

// Seed is that of cuckoo.Hash.
func (m *Map) Seed() uint64 { return m.seed }

// Condition is the condition of a write; the zero value: always.
type Condition struct {
	IfAbsent   bool   // the key has no record
	IfPresent  bool   // it has one, of any revision
	IfRevision uint64 // its record has this revision; 0: any
}

// Check compares with has, the revision of the present record, 0: none. The error is
// ErrExists, ErrNotFound or ErrConflict.
func (c Condition) Check(key []byte, has uint64) error {
	switch {
	case c.IfAbsent && has != 0:
		return fmt.Errorf("%w: %q has revision %d", ErrExists, key, has)
	case c.IfPresent && has == 0:
		return fmt.Errorf("%w: %q", ErrNotFound, key)
	case c.IfRevision != 0 && has == 0:
		return fmt.Errorf("%w: %q has no record, want revision %d", ErrConflict, key, c.IfRevision)
	case c.IfRevision != 0 && has != c.IfRevision:
		return fmt.Errorf("%w: %q has revision %d, want %d", ErrConflict, key, has, c.IfRevision)
	}
	return nil
}

// Entry is what Put stores.
type Entry struct {
	Key, Value []byte
	Expiry     time.Duration // by the Map's clock; 0: never
	Flags      uint16
	// Revision is that of the write, above those of all writes before; 0: the next one.
	Revision uint64
}

// count keeps the number of records that expire.
func (m *Map) count(before, after bool) {
	if before {
		m.mortal--
	}
	if after {
		m.mortal++
	}
}

// find returns the key's reference, 0: none, its record's revision, 0 if the key has
// none or the record has expired, and whether the record ever expires. The caller holds
// the lock.
func (m *Map) find(hash uint64, key []byte, now time.Duration) (ref record.Ref, revision uint64, mortal bool) {
	m.index.PrefetchWrite(hash)
	m.refs = m.index.Lookup(m.refs[:0], hash)
	for _, ref := range m.refs {
		v, err := m.heap.View(record.Ref(ref), key)
		switch {
		case err != nil: // another key
		case expired(v.Expiry, now):
			return record.Ref(ref), 0, true
		default:
			return record.Ref(ref), v.Revision, v.Expiry != 0
		}
	}
	return 0, 0, false
}

func expired(expiry int64, now time.Duration) bool { return expiry != 0 && expiry <= int64(now) }
