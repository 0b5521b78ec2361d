package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// Options of a Store. The zero value keeps everything in memory only.
type Options struct {
	// Dir is the data directory, created if it is missing. Empty: none.
	Dir  string
	Sync disk.Sync
	// AcceptLoss opens a Dir in which acknowledged writes are missing (disk.ErrLost).
	AcceptLoss bool
	// Replicated: the store is a member's of a group. Writes are refused until Replicate
	// was called. A journal of the group's makes them durable, so the store's own log
	// follows within a second, whatever Sync says. It needs a Dir.
	Replicated bool
	// StoreID is the identity of a data directory that is created, the same in all members
	// of a group; zero: random.
	StoreID [16]byte
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
	// Collections are created when the store is opened, and cannot be altered. Calls by
	// clients cannot drop them.
	Collections []Named
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

// Store has collections of all kinds, and the log of those that are kept. All methods are
// safe for concurrent use.
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
	once     *once         // names of writes; nil: the store is in no group
	last     atomic.Uint64 // the same, for other goroutines
	counters counters
	group    atomic.Pointer[Group] // Replicate
	numbered uint64                // of the last write that was prepared
	loads    map[uint32]bool       // leftload.go; used by the commit leader
	owned    atomic.Pointer[slots] // changed by the commit leader; nil: the store has all
	asked    slotRequests          // counted while there are several groups
	hidden   uint64                // counts what may have added ids that readers do not see; used by the commit leader

	registry
	next     atomic.Uint32 // the number that a collection in the log got last
	notReady atomic.Pointer[error]
	loaded   chan struct{} // closed when Load has returned
	closed   atomic.Bool
}

// Open opens a store, and loads the data that it has kept.
func Open(ctx context.Context, o Options) (*Store, error) {
	st, err := New(o)
	if err != nil {
		return nil, err
	}
	if err := st.Load(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// New makes a store with the collections that are in memory alone. Load makes the others.
// Meanwhile calls for these fail with ErrNotReady. Close it in any case.
func New(o Options) (*Store, error) {
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
	if o.Replicated {
		if o.Dir == "" {
			return nil, fmt.Errorf("%w: a member of a group without a data directory", ErrOptions)
		}
		o.Sync = disk.SyncInterval(replicatedSync)
	}
	st := &Store{
		o: o, now: o.Now, boot: cmp.Or(o.BootID, rand.Uint64()), filters: cel.NewCache(filterCache), loaded: make(chan struct{}),
		loads: map[uint32]bool{},
	}
	st.names.Store(&map[string]*Entry{})
	st.isNotReady("%w: the store is being loaded", fault.ErrNotReady)
	st.queue.wake, st.queue.idle.L = make(chan struct{}, 1), &st.queue.mu
	limits, err := o.Watch.withDefaults()
	if err != nil {
		return nil, err
	}
	st.hub.init(st, limits)
	if err := st.createNamed(false); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, nil
}

// createNamed creates the collections that the options name: those in the log, or the
// others.
func (st *Store) createNamed(durable bool) error {
	for _, n := range st.o.Collections {
		if n.Keep = st.keeps(&n.Spec); n.durable() != durable {
			continue
		}
		if _, err := st.create(n.Name, n.Spec); err != nil {
			return err
		}
	}
	return nil
}

// Load opens the data directory, loads its collections, and creates those that the
// options name. An error of the last step leaves a store that is ready. Call it once.
func (st *Store) Load(ctx context.Context) (err error) {
	defer close(st.loaded)
	if st.closed.Load() {
		return ErrClosed
	}
	if err := st.open(ctx); err != nil {
		st.isNotReady("%w: the store could not be opened: %w", fault.ErrServer, err)
		return err
	}
	defer context.AfterFunc(ctx, st.GiveUp)()
	if !st.o.Replicated { // Otherwise the primary does (CreateNamed).
		err = st.createNamed(true)
	}
	st.notReady.Store(nil)
	return err
}

func (st *Store) open(ctx context.Context) error {
	db, err := st.o.disk(st.o.Dir, disk.Options{
		Sync: st.o.Sync, Store: st.o.StoreID, LogBytes: st.o.LogBytes, Logger: st.o.Logger, IDsOnly: st.o.Dir == "", AcceptLoss: st.o.AcceptLoss,
	})
	if err != nil {
		return err
	}
	st.db, st.revision = db, db.Revision()
	if st.o.Dir == "" {
		// Above the revisions of the store that this one replaces.
		st.revision = firstRevision(st.now())
	}
	st.last.Store(st.revision)
	st.waitsForDisk = st.o.Dir != "" && (st.o.Sync == disk.SyncAlways || st.o.Replicated)
	st.keepsOld = st.o.Dir != "" // The log has the old values.
	if err := st.restore(ctx); err != nil {
		return err
	}
	if st.o.Replicated {
		if err := st.restoreOnce(); err != nil {
			return err
		}
	}
	st.db.Loaded()
	if st.waitsForDisk {
		st.queue.ended.Go(st.committer)
	}
	return nil
}

func (st *Store) isNotReady(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	st.notReady.Store(&err)
}

// Ready returns nil when the collections in the log can be used, those that the options
// name included. ErrNotReady: not yet. ErrClosed: not any more. Otherwise it says why Load
// has failed.
func (st *Store) Ready() error {
	if st.closed.Load() {
		return ErrClosed
	}
	if err := st.notReady.Load(); err != nil {
		return *err
	}
	return nil
}

// Loaded is closed when Load has returned.
func (st *Store) Loaded() <-chan struct{} { return st.loaded }

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
// exist when the store is opened again. Load must not run meanwhile.
func (st *Store) Close() error {
	if st.closed.Swap(true) {
		return nil
	}
	st.shut()
	st.naming.Lock()   // A call that has made a collection has entered it, or freed it.
	st.naming.Unlock() //nolint:staticcheck // SA2001: later calls are refused.
	st.freeing.Wait()
	st.hub.close()
	for _, e := range st.All() {
		e.close()
	}
	if st.db == nil {
		return nil
	}
	return st.db.Close()
}

// GiveUp ends waits for a failed disk, for good: a write that may or may not be on disk
// fails with disk.ErrInDoubt. Close calls it; a caller that waits for writes before
// Close calls it first.
func (st *Store) GiveUp() {
	if st.db != nil {
		st.db.GiveUp()
	}
}

// shut closes the commit queue, and waits until there is no commit leader.
func (st *Store) shut() {
	q := &st.queue
	q.mu.Lock()
	q.closed = true
	refused := q.waiting
	q.waiting = nil
	if st.db != nil {
		st.db.GiveUp() // Now, since the commit leader gets no further batch.
	}
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
