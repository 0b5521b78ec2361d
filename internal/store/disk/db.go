package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
)

// DB is an open data directory. One goroutine at a time may Commit; everything
// else may be called at any time by any.
type DB struct {
	o     Options
	dir   string
	id    identity
	cache *pebble.Cache

	revision atomic.Uint64 // the last one acknowledged
	end      atomicMark    // the same, with its sum
	durable  atomic.Uint64 // not above revision: known to survive a crash

	commits chan struct{} // full during a Commit
	steps   []step        // the committer's
	sealing []byte        // and the seal that goes into its batch
	digest  xxhash.Digest
	seals   *sealer // nil: nothing is written yet, or IDsOnly

	obstacle atomic.Pointer[error] // why the last repair failed
	credit   int64                 // bytes until the next look at throttle

	mu     sync.Mutex
	engine *engine // the engine that serves
	// before is the state without the commit that is in flight or has failed,
	// and nil if there is none. Readers use it.
	before *pebble.Iterator
	closed bool
	loaded bool // Loaded was called
	left   bool // a commit is in doubt, and its caller does not wait any more
	open   int  // engines that are not closed yet
	lock   io.Closer
	errs   []error // of closing

	stop context.CancelFunc
	ctx  context.Context
	// Repairs of a failed disk continue until giveUp or stop is called.
	repairing context.Context
	giveUp    context.CancelFunc

	tasks   sync.WaitGroup
	pending chan *doubt // commits in doubt
}

// Open opens a data directory, and creates it if it is missing or empty. dir is
// not looked at with Options.IDsOnly.
func Open(dir string, o Options) (_ *DB, err error) {
	defer func() {
		if err != nil {
			err = plain{err}
		}
	}()
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	if o.IDsOnly {
		dir = "ids"
	}
	if dir, err = absolute(o.FS, dir); err != nil {
		return nil, err
	}
	if info, err := o.FS.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file, not a directory", ErrForeign, dir)
	}
	_, found, err := readIdentity(o.FS, dir)
	if err != nil {
		return nil, err
	}
	if !found {
		if err := makeDir(o.FS, dir); err != nil {
			return nil, err
		}
	}
	l, err := lock(o.FS, dir)
	if err != nil {
		return nil, err
	}
	db := &DB{o: o, dir: dir, lock: l, commits: make(chan struct{}, 1), pending: make(chan *doubt)}
	// Again, under the lock: another process may have changed it.
	if db.id, found, err = readIdentity(o.FS, dir); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if !found {
		db.id = newIdentity()
		if o.Store != ([16]byte{}) {
			db.id.store = o.Store
		}
	}
	if err := db.start(found); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return db, nil
}

// start opens Pebble's files, or makes them.
func (db *DB) start(found bool) (err error) {
	if !found {
		if err := db.id.save(db.o.FS, db.dir); err != nil {
			return err
		}
	}
	if !db.id.ready {
		// Files of a creation that stopped hold nothing.
		if err := db.o.FS.RemoveAll(db.files()); err != nil {
			return err
		}
	}
	db.cache = pebble.NewCache(db.o.CacheBytes)
	e, end, err := db.first()
	if err != nil {
		db.cache.Unref()
		return fmt.Errorf("opening %s: %w", db.dir, corrupt(err))
	}
	db.serve(e)
	db.o.counters.logBytes.Store(e.kept.bytes)
	db.revision.Store(e.last)
	db.end.store(end)
	db.ctx, db.stop = context.WithCancel(context.Background())
	db.repairing, db.giveUp = context.WithCancel(db.ctx)
	db.tasks.Go(db.repair)
	if db.o.Sync.every > 0 {
		db.tasks.Go(db.syncer)
	}
	return nil
}

// serve makes e the engine that serves. db.mu is held, or db is not shared yet.
func (db *DB) serve(e *engine) {
	db.engine, db.open = e, db.open+1
	e.closed = func(err error) {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.errs = append(db.errs, err)
		db.open--
		db.letGo()
	}
}

// letGo gives up the lock after the last engine. db.mu is held.
func (db *DB) letGo() {
	if db.closed && db.open == 0 {
		db.cache.Unref()
		db.errs = append(db.errs, db.lock.Close())
	}
}

func (db *DB) files() string { return db.o.FS.PathJoin(db.dir, pebbleName) }

// Close makes acknowledged writes durable and ends the database. ErrReadOnly: the disk
// did not take them, so without SyncAlways the last entries are lost. Iterators that
// are still open keep working, and the directory stays locked until the last of them is
// closed. A Commit that waits for a failed disk returns ErrInDoubt.
func (db *DB) Close() error {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return ErrClosed
	}
	db.closed = true
	db.mu.Unlock()
	db.stop()
	db.tasks.Wait()
	db.commits <- struct{}{} // The last one has returned.
	db.mu.Lock()
	e := db.engine
	db.mu.Unlock()
	var lost error
	if kept := db.durable.Load(); !db.o.IDsOnly && kept < db.Revision() {
		if err := db.syncNow(e); err != nil {
			lost = fmt.Errorf("%w: %w: what came after revision %d is lost", ErrReadOnly, err, kept)
		}
	}
	db.mu.Lock()
	db.errs = append(db.errs, lost)
	if db.before != nil {
		_ = db.before.Close()
		db.before = nil
	}
	db.mu.Unlock()
	e.release()
	if db.seals != nil {
		lost = db.seals.close()
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	return errors.Join(append(db.errs, lost)...)
}

// Revision of the last entry that was acknowledged, 0 if there is none.
func (db *DB) Revision() uint64 { return db.revision.Load() }

// Durable is the last revision that is known to survive the end of the machine.
func (db *DB) Durable() uint64 { return db.durable.Load() }

// Store is a random number that was drawn when the data directory was made, and
// again when it was restored: revisions of another store mean other writes.
func (db *DB) Store() [16]byte { return db.id.store }

// Healthy is nil if commits are taken, and otherwise the error that Commit would
// return: ErrReadOnly with its cause, or ErrClosed.
func (db *DB) Healthy() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.healthy()
}

func (db *DB) healthy() error {
	if db.closed || db.left {
		return ErrClosed
	}
	if cause := db.engine.g.cause(); cause != nil {
		if obstacle := db.obstacle.Load(); obstacle != nil {
			return fmt.Errorf("%w: %w; %w", ErrReadOnly, cause, *obstacle)
		}
		return fmt.Errorf("%w: %w", ErrReadOnly, cause)
	}
	return nil
}

// Collections returns the collections by number, as of their last Create or Alter.
func (db *DB) Collections() ([]Meta, error) {
	e, iters, err := db.reader()
	if err != nil {
		return nil, err
	}
	defer e.release()
	defer db.mu.Unlock()
	return readCollections(iters)
}

// A view makes iterators of one state.
type view func(*pebble.IterOptions) (*pebble.Iterator, error)

// reader returns a view of the acknowledged state: until db.mu is unlocked, which is
// the caller's, as is the reference to the engine. Iterators made of it may be
// used as long as the engine.
func (db *DB) reader() (*engine, view, error) {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return nil, nil, ErrClosed
	}
	e := db.engine
	e.acquire()
	if before := db.before; before != nil {
		return e, func(o *pebble.IterOptions) (*pebble.Iterator, error) {
			return before.Clone(pebble.CloneOptions{IterOptions: o})
		}, nil
	}
	return e, e.NewIter, nil
}
