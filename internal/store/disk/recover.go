package disk

// How a frozen database (guard.go) comes back, without a restart.
//
//	 frozen engine, serves readers          the disk, as after a crash
//	 | ... | acked | failed batch? |        | ... | found |
//	          |                                      |
//	          |   1 no write is in flight, and no commit but one in doubt
//	          |   2 open a second engine on the disk's files: it recovers as after
//	          |     a crash, and writes what it found to new tables
//	          |   3 write the entries in (found, acked] again, from the frozen log
//	          v   4 the second serves; the first ends with its last reader
//
// Why acknowledged entries are on disk again: the frozen engine holds all of them. They
// were not trimmed from its log, since only durable entries are (Commit), and
// durable entries are found. Step 3 is one batch, so a crash at any moment leaves a
// prefix of whole batches. With SyncAlways (found, acked] is empty unless the disk
// lost data that it promised to keep.
//
// Why refused entries are not on disk: found > acked holds only if the batch whose
// Commit saw the failure reached the disk. Then Commit is still waiting, and returns
// success, rightly: step 2 has made it durable, also if the failure was that of an
// fsync, after which the old file cannot be trusted. If step 2 fails, the files are
// only looked at (look). When the batch is not in them now it never will be, since no
// process writes to them, and Commit fails. When it is, it may be in memory of the
// operating system only, so there is no answer yet, and Commit continues waiting.

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// A doubt is a commit that may or may not be on disk.
type doubt struct {
	last    uint64
	verdict chan error // one; nil: it is in
}

// settle finds out whether a batch is on disk.
func (db *DB) settle(last uint64) error {
	d := &doubt{last: last, verdict: make(chan error, 1)}
	select {
	case db.pending <- d:
	case <-db.repairing.Done():
		return db.leave(last)
	}
	select {
	case err := <-d.verdict:
		return err
	case <-db.repairing.Done():
		return db.leave(last)
	}
}

// leave ends a commit in doubt whose caller no longer waits. Later commits would not
// know whether their revisions follow.
func (db *DB) leave(last uint64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.left = true
	return fmt.Errorf("%w: up to revision %d", ErrInDoubt, last)
}

// GiveUp ends the wait of a Commit for a failed disk, with ErrInDoubt, and attempts to
// repair it, for good; after such a Commit there is no other (ErrClosed). A caller that
// waits for Commits to return before Close calls it first.
func (db *DB) GiveUp() { db.giveUp() }

// Between attempts: short at first, for errors that were a moment's, and never
// long, since the operator waits for it after making room. An attempt reads the WAL, at
// most a few memtables.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// repair is the goroutine that replaces frozen engines.
func (db *DB) repair() {
	for {
		e := db.engine // Only this goroutine changes it.
		select {
		case <-db.repairing.Done():
			return
		case <-e.g.frozen:
		}
		cause := e.g.cause()
		db.o.Logger.Error("no more writes to the data directory until it can be written again", "dir", db.dir, "error", cause)
		e.g.quiesce()
		var d *doubt
		select {
		case db.commits <- struct{}{}: // No Commit is in flight, and others are refused.
			<-db.commits
		case d = <-db.pending:
		case <-db.repairing.Done():
			return
		}
		for wait := firstWait; ; wait = min(2*wait, longWait) {
			found, err := db.replace(e, d)
			if err == nil {
				db.obstacle.Store(nil)
				db.o.Logger.Info("the data directory is written again", "dir", db.dir, "revision", db.Revision())
				d.resolve(found, cause)
				break
			}
			db.obstacle.Store(&err)
			db.o.Logger.Warn("the data directory cannot be written yet", "dir", db.dir, "error", err, "next", wait)
			if d != nil {
				if found, err := db.look(); err == nil && found < d.last {
					d.resolve(found, cause)
					d = nil
				}
			}
			select {
			case <-db.repairing.Done():
				return
			case <-db.o.After(wait):
			}
		}
	}
}

// resolve ends the doubt, knowing the last revision on disk.
func (d *doubt) resolve(found uint64, cause error) {
	switch {
	case d == nil:
	case found >= d.last:
		d.verdict <- nil
	default:
		d.verdict <- fmt.Errorf("%w: %w", ErrReadOnly, cause)
	}
}

// replace opens a second engine, completes it, and lets it serve. It returns the
// last revision found on disk.
func (db *DB) replace(old *engine, d *doubt) (found uint64, err error) {
	if err := db.probe(); err != nil {
		return 0, err
	}
	next, err := openEngine(db.o, db.cache, db.files(), opening{})
	if err != nil {
		return 0, err
	}
	acked := db.Revision()
	found = next.last
	switch {
	case found > acked && (d == nil || found != d.last):
		err = fmt.Errorf("%w: revision %d on disk, %d was the last acknowledged", ErrCorrupt, found, acked)
	case found < acked:
		err = rewrite(db, old, next, found, acked)
	}
	var end mark
	if err == nil {
		end, err = endOf(next.NewIter)
	}
	if err == nil {
		err = db.sealed(end)
	}
	if err == nil {
		err = next.g.cause()
	}
	if err != nil {
		next.discard()
		return 0, err
	}
	closed := old.closed
	old.closed = func(err error) {
		next.g.keep()
		closed(err)
	}
	db.mu.Lock()
	if !db.loaded {
		next.g.hold()
	}
	before := db.before
	db.before = nil
	db.serve(next)
	db.o.counters.recoveries.Add(1)
	db.end.store(end)
	db.revision.Store(end.revision)
	db.durable.Store(end.revision)
	db.mu.Unlock()
	if before != nil {
		_ = before.Close()
	}
	old.release()
	return found, nil
}

// rewrite copies the log's (found, acked] from old to next, and their effect.
func rewrite(db *DB, old, next *engine, found, acked uint64) (err error) {
	it, err := old.NewIter(&pebble.IterOptions{LowerBound: logKey(found + 1), UpperBound: logKey(acked + 1)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	var entries []Entry
	for ok := it.First(); ok; ok = it.Next() {
		revision, err := parseLogKey(it.Key())
		if err != nil {
			return err
		}
		n, err := parseEntry(revision, append([]byte(nil), it.Value()...))
		if err != nil {
			return err
		}
		entries = append(entries, n)
	}
	if err := it.Error(); err != nil {
		return err
	}
	if uint64(len(entries)) != acked-found {
		return fmt.Errorf("%w: %d entries in memory after revision %d, not %d", ErrCorrupt, len(entries), found, acked-found)
	}
	steps, collections, err := next.check(nil, entries, found)
	if err != nil {
		return err
	}
	b := next.NewBatch()
	defer b.Close()
	db.stageAll(next, b, entries, steps)
	db.added(next, entries, steps)
	next.collections = collections
	return b.Commit(pebble.Sync)
}

// look returns the last revision on disk, and writes nothing.
func (db *DB) look() (last uint64, err error) {
	p, err := openReadOnly(db.o, db.cache, db.files())
	if err != nil {
		return 0, err
	}
	_, last, err = logEnds(p.NewIter)
	return last, errors.Join(err, p.Close())
}
