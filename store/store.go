package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/feature/filter/cel"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/disk"
)

// Options of a Store. The zero value keeps everything in memory only.
type Options struct {
	// Dir is the data directory, created if it is missing. Empty: none.
	Dir  string
	Sync disk.Sync
	// AcceptLoss opens a Dir in which acknowledged writes are missing (disk.ErrLost).
	AcceptLoss bool
	// LogBytes is about how much of the log is kept for watchers and replicas; 0: 256
	// MiB.
	LogBytes int64
	// SlabBytes bounds each part of a collection's memory: tree, records, keys.
	// It is address space until it is used. 0: 64 GiB.
	SlabBytes int64
	NodeBytes int // of trees; 0: rstar.DefaultNodeBytes
	// Strategy of the trees of boxes; 0: rstar.Revised.
	Strategy rstar.Strategy
	// Memory, if not nil, makes the memory of collections: a server lets clients
	// read it. nil: private memory.
	Memory func(collection string, part Part, bytes int64) (Memory, error)
	// Owner, if not nil, is the server whose store it is.
	Owner Owner
	// BootID is in each tree's header, for remote readers; 0: a random one.
	BootID uint64
	Logger *slog.Logger // nil: none
	// Now is the time since the Unix epoch, never going back; nil: the clock.
	Now func() time.Duration
	// Workers load collections at the start; 0: one for each processor.
	Workers int
	Watch   WatchLimits

	disk func(dir string, o disk.Options) (*disk.DB, error) // tests
}

// filterCache is how many compiled filters are kept: 50 us each saved.
const filterCache = 256

// DefaultSlabBytes is Options.SlabBytes if that is 0.
const DefaultSlabBytes = 64 << 30

// Store has collections of features and of boxes, and their log. All methods are safe
// for concurrent use.
type Store struct {
	o            Options
	db           *disk.DB
	now          func() time.Duration
	boot         uint64
	waitsForDisk bool // writes wait for the disk
	keepsOld     bool // old values are needed; used by the commit leader

	filters *filter.Cache

	queue    commitQueue
	hub      hub
	revision uint64        // of the last write that was committed
	last     atomic.Uint64 // the same, for other goroutines
	counters counters
	numbered uint64 // of the last write that was prepared

	naming sync.Mutex // serialises create, drop and swap, which wait for the disk

	// mu guards the maps. No goroutine waits for the disk while it holds mu. Only the
	// commit leader changes the maps.
	mu     sync.RWMutex
	names  map[string]*Collection
	nums   map[uint32]*Collection
	boxes  map[string]*Boxes
	next   uint32
	closed bool
}

// Open opens a store, and loads the data that it has kept.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.SlabBytes == 0 {
		o.SlabBytes = DefaultSlabBytes
	}
	if o.SlabBytes < 0 || o.LogBytes < 0 || o.Workers < 0 {
		return nil, fmt.Errorf("%w: %d bytes of memory, %d of log, %d workers: below 0",
			ErrOptions, o.SlabBytes, o.LogBytes, o.Workers)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = sinceEpoch()
	}
	if o.disk == nil {
		o.disk = disk.Open
	}
	st := &Store{
		o: o, now: o.Now, boot: cmp.Or(o.BootID, rand.Uint64()), filters: cel.NewCache(filterCache),
		names: map[string]*Collection{}, nums: map[uint32]*Collection{},
		boxes: map[string]*Boxes{}, next: 1,
	}
	st.queue.wake, st.queue.idle.L = make(chan struct{}, 1), &st.queue.mu
	limits, err := o.Watch.withDefaults()
	if err != nil {
		return nil, err
	}
	st.hub.init(st, limits)
	db, err := o.disk(o.Dir, disk.Options{
		Sync: o.Sync, LogBytes: o.LogBytes, Logger: o.Logger, IDsOnly: o.Dir == "", AcceptLoss: o.AcceptLoss,
	})
	if err != nil {
		return nil, err
	}
	st.db, st.revision = db, db.Revision()
	if o.Dir == "" {
		// Above the revisions of the store that this one replaces.
		st.revision = uint64(st.now()) >> 8
	}
	st.last.Store(st.revision)
	st.waitsForDisk = o.Dir != "" && o.Sync == disk.SyncAlways
	st.keepsOld = o.Dir != "" // The log has the old values.
	if err := st.restore(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	st.db.Loaded()
	if st.waitsForDisk {
		st.queue.ended.Go(st.committer)
	}
	return st, nil
}

// sinceEpoch is a clock that does not follow later settings of the system's clock.
func sinceEpoch() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Duration(began.UnixNano()) + time.Since(began) }
}

// History identifies the store's revisions, never 0: it is that of the data directory,
// or without one of this Store alone. A revision means the same writes only with the
// same History: a data directory that was restored from a backup has another.
func (st *Store) History() uint64 {
	id := st.boot
	if st.o.Dir != "" {
		of := st.db.Store()
		id = binary.LittleEndian.Uint64(of[:])
	}
	return cmp.Or(id, 1)
}

// Close ends reads and writes, waits for those in flight, and closes the log. Writes
// that wait are refused with ErrClosed. It does not wait for a failed disk: an
// in-flight write that may or may not be on disk fails with disk.ErrInDoubt, and may
// exist when the store is opened again.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.mu.Unlock()
	st.shut()
	st.naming.Lock() // A call that has made a collection has put it into the maps, or freed it.
	defer st.naming.Unlock()
	st.hub.close()
	for _, c := range st.Collections() {
		c.close()
	}
	for _, c := range st.AllBoxes() {
		c.close()
	}
	return st.db.Close()
}

// GiveUp ends waits for a failed disk, for good: a write that may or may not be on disk
// fails with disk.ErrInDoubt. Close calls it; a caller that waits for writes before
// Close calls it first.
func (st *Store) GiveUp() { st.db.GiveUp() }

// shut closes the commit queue, and waits until there is no commit leader.
func (st *Store) shut() {
	q := &st.queue
	q.mu.Lock()
	q.closed = true
	refused := q.waiting
	q.waiting = nil
	st.db.GiveUp()    // Now, since the commit leader gets no further batch.
	for q.hasLeader { // The leader finds the queue empty, and ends.
		q.idle.Wait()
	}
	q.mu.Unlock()
	close(q.wake)
	q.ended.Wait()
	for _, w := range refused {
		w.done(0, fmt.Errorf("%w: %q was not written", ErrClosed, w.id))
	}
}

// Collections returns all collections, by name.
func (st *Store) Collections() []*Collection {
	st.mu.RLock()
	defer st.mu.RUnlock()
	var all []*Collection
	for _, c := range st.names {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Collection) int { return cmp.Compare(a.Name(), b.Name()) })
	return all
}

// Collection returns that of a name. ErrUnknownCollection: there is none. An Owner says
// which other kind a collection of that name is of.
func (st *Store) Collection(name string) (*Collection, error) {
	st.mu.RLock()
	c := st.names[name]
	st.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	if st.o.Owner != nil {
		return nil, st.o.Owner.Missing(name)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
}
