package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store/disk"
)

// The door: the one way in for writes
//
// Writes come from any goroutine, and wait in a queue. One at a time takes what has
// come together, a batch, through these steps:
//
//	judge    preconditions, against memory and the writes before in the batch
//	number   each gets the next revision
//	stage    its record is written, and nothing leads to it (kv.Map.Stage): now
//	         there is room for it
//	commit   all are one batch of the log: one fsync
//	publish  each in its turn: key index, tree, old record dead
//	tell     watchers, then who waits
//
// So readers never see what is not durable, what is acknowledged is seen by all who
// ask later, and while the disk is busy the next batch comes together. If nothing
// waits for the disk, whoever finds the door free goes through by itself, and with
// it what came meanwhile: no goroutine has to wake another one.

// write is a write on its way.
type write struct {
	run  func() error // alone in its batch: collections come and go
	coll *Collection
	kind disk.Kind
	id   string
	// value is what the feature is to be, of a Put. patch is a merge patch of its
	// properties instead.
	value  []byte
	patch  func(old *Found) (value []byte, err error)
	cond   kv.Condition
	expiry time.Duration
	// expired is the revision of a feature that has expired, and is deleted for
	// that.
	expired uint64
	done    func(revision uint64, err error)

	revision uint64
	boxes    int
	ref      record.Ref
	// The feature before, its value if keepsOld.
	old       []byte
	oldExpiry time.Duration
	oldRev    uint64
	err       error
}

// maxBatch is how many writes go together: 10 ms of work.
const maxBatch = 1024

type door struct {
	mu     sync.Mutex
	queue  []*write
	busy   bool // somebody is inside
	closed bool
	wake   chan struct{} // of the committer, if writes wait for the disk
	gone   sync.WaitGroup

	// Of who is inside.
	batch   []*write
	entries []disk.Entry
	ids     []disk.Entry
	pending map[pendingKey]*write // the last write of the batch to a feature
	buf     kv.Buffer
	found   Found
	boxes   int // of the batch's features
}

type pendingKey struct {
	coll *Collection
	id   string
}

// submit has a write made, and its done called, perhaps by this goroutine.
func (st *Store) submit(w *write) {
	d := &st.door
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		w.done(0, fmt.Errorf("%w: %q was not written", ErrClosed, w.id))
		return
	}
	if st.o.Dir != "" {
		// The batch inside may wait for a failed disk; and a record that is staged
		// in vain takes up room for a second.
		if err := st.db.Healthy(); err != nil {
			d.mu.Unlock()
			w.done(0, err)
			return
		}
	}
	d.queue = append(d.queue, w)
	if d.busy {
		d.mu.Unlock()
		return
	}
	d.busy = true
	d.mu.Unlock()
	if st.waitsForDisk {
		d.wake <- struct{}{} // It has room: busy was false.
		return
	}
	st.pass()
}

// committer carries out batches that wait for the disk.
func (st *Store) committer() {
	for range st.door.wake {
		st.pass()
	}
}

// pass carries out batches until the queue is empty.
func (st *Store) pass() {
	d := &st.door
	for {
		d.mu.Lock()
		n := 0
		for n < min(len(d.queue), maxBatch) && (n == 0 || d.queue[0].run == nil && d.queue[n].run == nil) {
			n++
		}
		if n == 0 {
			d.busy = false
			d.mu.Unlock()
			return
		}
		d.batch = append(d.batch[:0], d.queue[:n]...)
		rest := copy(d.queue, d.queue[n:])
		clear(d.queue[rest:])
		d.queue = d.queue[:rest]
		d.mu.Unlock()
		st.carryOut(d.batch)
		clear(d.batch)
	}
}

// carryOut takes one batch through.
func (st *Store) carryOut(batch []*write) {
	if run := batch[0].run; run != nil {
		err := run()
		st.hub.tell()
		batch[0].done(0, err)
		return
	}
	d := &st.door
	d.entries = d.entries[:0]
	clear(d.pending)
	d.boxes, st.numbered = 0, st.revision
	for _, w := range batch {
		if w.err = st.prepare(w, len(batch) > 1); w.err == nil {
			d.entries = append(d.entries, w.entry())
		}
	}
	if len(d.entries) > 0 {
		if err := st.commit(d.entries); err != nil {
			for _, w := range batch {
				if w.err == nil {
					w.err = errors.Join(err, w.discard())
				}
			}
		}
	}
	var undo []*write
	for _, w := range batch {
		if w.err == nil {
			if w.err = st.publish(w); w.err != nil {
				undo = append(undo, w)
			}
		}
	}
	// After what comes behind them in the batch, perhaps to the same features.
	for _, w := range undo {
		w.err = st.undo(w)
	}
	st.hub.tell()
	for _, w := range batch {
		w.done(w.revision, w.err)
	}
	clear(d.entries)
}

// prepare judges, numbers and stages a write.
func (st *Store) prepare(w *write, more bool) error {
	if w.coll.dropped.Load() {
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, w.coll.name)
	}
	old, err := st.before(w)
	if err != nil {
		return err
	}
	if w.expired != 0 {
		if err := st.stillExpired(w); err != nil {
			return err
		}
	} else if err := judge(w, old); err != nil {
		return err
	}
	if w.patch != nil {
		if w.value, err = w.patch(old); err != nil {
			return err
		}
	}
	if old != nil {
		w.oldRev, w.oldExpiry = old.Revision, old.Expiry
		if st.keepsOld {
			w.old = append([]byte(nil), old.Value...)
		}
	}
	if old == nil && st.keepsOld {
		if err := st.expiredBefore(w); err != nil {
			return err
		}
	}
	w.revision = st.numbered + 1
	if w.kind == disk.Put {
		if w.boxes, err = boxesOf(w.value); err != nil {
			return err
		}
		if err := w.coll.set.room(st.door.boxes + w.boxes); err != nil {
			return err
		}
		w.ref, err = w.coll.set.m.Stage(kv.Entry{
			Key: []byte(w.id), Value: w.value, Expiry: w.expiry, Revision: w.revision,
		})
		if err != nil {
			return err
		}
	}
	st.door.boxes += w.boxes
	st.numbered++
	if more {
		if st.door.pending == nil {
			st.door.pending = map[pendingKey]*write{}
		}
		st.door.pending[pendingKey{w.coll, w.id}] = w
	}
	return nil
}

// expiredBefore finds the feature before, if that has expired and is not removed
// yet. It is not there for a precondition, but it was for watchers.
func (st *Store) expiredBefore(w *write) error {
	if st.door.pending[pendingKey{w.coll, w.id}] != nil {
		return nil
	}
	st.door.buf.LongestValue = 0
	v, err := w.coll.set.m.GetExpired([]byte(w.id), &st.door.buf)
	if err == nil {
		w.old = append([]byte(nil), v.Value...)
		w.oldRev, w.oldExpiry = v.Revision, duration(v.Expiry)
	}
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// stillExpired is an error if the feature was written since.
func (st *Store) stillExpired(w *write) error {
	has, expiry := w.coll.set.m.Peek([]byte(w.id))
	if has == w.expired && expiry <= st.now() && st.door.pending[pendingKey{w.coll, w.id}] == nil {
		return nil
	}
	return fmt.Errorf("%w: %q", kv.ErrConflict, w.id)
}

func boxesOf(value []byte) (int, error) {
	v, err := feature.Open(value)
	return v.NumBoxes(), err
}

// before is the feature that a write finds, nil if there is none. It is good until
// the next call.
func (st *Store) before(w *write) (*Found, error) {
	d := &st.door
	f := &d.found
	if p := d.pending[pendingKey{w.coll, w.id}]; p != nil {
		if p.kind == disk.Delete {
			return nil, nil
		}
		*f = Found{ID: []byte(p.id), Value: p.value, Revision: p.revision, Expiry: p.expiry, Now: st.now()}
		return f, f.open()
	}
	if d.buf.LongestValue = 1; w.patch != nil || st.keepsOld {
		d.buf.LongestValue = 0
	}
	v, _, err := w.coll.set.m.Get([]byte(w.id), &d.buf)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	*f = Found{ID: v.Key, Value: v.Value, Revision: v.Revision, Expiry: duration(v.Expiry), Now: st.now()}
	if d.buf.LongestValue == 0 {
		err = f.open()
	}
	return f, err
}

// judge compares a precondition with what there is.
func judge(w *write, old *Found) error {
	has := uint64(0)
	if old != nil {
		has = old.Revision
	}
	if err := w.cond.Check([]byte(w.id), has); err != nil {
		return err
	}
	if has == 0 && (w.kind == disk.Delete || w.patch != nil) {
		return fmt.Errorf("%w: %q", kv.ErrNotFound, w.id)
	}
	return nil
}

func (w *write) entry() disk.Entry {
	e := disk.Entry{
		Collection: w.coll.num, Kind: w.kind, Key: []byte(w.id), Value: w.value,
		Revision: w.revision, Expiry: int64(w.expiry), Old: w.old, OldExpiry: int64(w.oldExpiry), OldRevision: w.oldRev,
	}
	if w.expired != 0 {
		e.Flags = expiredFlag
	}
	return e
}

// discard takes back what was staged.
func (w *write) discard() error {
	if w.ref == 0 {
		return nil
	}
	return w.coll.set.m.Discard(w.ref)
}

// undo is for a write that is in the log, and could not be published: what it has
// changed is written anew as it was before, so that the log tells what readers see.
func (st *Store) undo(w *write) error {
	undo := disk.Entry{Collection: w.coll.num, Kind: disk.Delete, Key: []byte(w.id), Revision: st.revision + 1}
	if w.kind == disk.Put {
		undo.Old, undo.OldExpiry, undo.OldRevision = w.value, int64(w.expiry), w.revision
	}
	v, _, err := w.coll.set.m.Get([]byte(w.id), &kv.Buffer{})
	if err == nil {
		undo.Kind, undo.Value, undo.Expiry = disk.Put, v.Value, v.Expiry
	}
	if err == nil || errors.Is(err, kv.ErrNotFound) {
		err = st.commit([]disk.Entry{undo})
	}
	if err != nil {
		st.o.Logger.Error("a write is in the log, but could not be carried out or undone", "collection", w.coll.name, "id", w.id, "revision", w.revision, "error", err)
	}
	return errors.Join(w.err, err)
}

// through runs f inside the door, alone.
func (st *Store) through(f func() error) error {
	ended := make(chan error, 1)
	st.submit(&write{run: f, done: func(_ uint64, err error) { ended <- err }})
	return <-ended
}

// publish makes a write seen.
func (st *Store) publish(w *write) error {
	m := w.coll.set.m
	if w.kind == disk.Delete {
		return m.DeleteAs([]byte(w.id), kv.Condition{}, w.revision)
	}
	return m.Publish([]byte(w.id), w.ref)
}
