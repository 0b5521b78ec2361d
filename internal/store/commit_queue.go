package store

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// The commit queue: the one path of writes
//
// Writes come from any goroutine, and wait in the queue. One goroutine at a time, the
// commit leader, takes those that have collected, a batch, through these steps (group
// commit):
//
//	judge    preconditions, against memory and the batch's earlier writes
//	number   each gets the next revision
//	stage    its record is written, and nothing leads to it (kv.Map.Stage): now
//	         there is room for it
//	commit   all are one batch of the log: one fsync
//	publish  each, in order: key index, tree, old record dead
//	notify   watchers, then the callers that wait
//
// So readers never see what is not durable, an acknowledged write is seen by every
// later read, and while the disk is busy the next batch collects. If nothing waits for
// the disk, a caller that finds no commit leader becomes the leader, and commits its
// own writes and those that came meanwhile: no goroutine has to wake another one.
// Writes that one goroutine receives together are submitted together (Writes), so that
// they share a commit, and their waits for memory (warm).

// write is a write in the commit queue.
type write struct {
	run func() error // alone in its batch: creates and drops collections, for example
	as  Name
	// known: it was carried out before. first is the write of the batch that it repeats.
	known bool
	moved bool         // by a move between groups (moved.go)
	may   func() error // of a move: judged in the commit leader, nil: it may
	first *write
	box   *boxWrite // to a collection of boxes; then the fields below are not used
	coll  *Collection
	rec   *Records // to a collection of records, instead of coll; m is the key's shard
	m     *kv.Map
	kind  disk.Kind
	id    string
	key   []byte // the id's bytes, since submit
	// value is the new value of a Put: of a feature, or of a record as the log has it.
	// patch, if set, is a merge patch of a feature's properties instead.
	value  []byte
	patch  func(old *Found) (value []byte, err error)
	joins  bool // the value of a record is appended to the present one
	cond   kv.Condition
	expiry time.Duration
	// expired is the revision of an expired feature, which this write deletes for that
	// reason.
	expired uint64
	done    func(revision uint64, err error)

	revision uint64
	replaces bool // a feature that a read would have found
	boxes    int
	ref      record.Ref
	evicts   []eviction // of a put to a cache, carried out before it
	grows    int64      // how the write changes the bytes of a cache
	// The feature before, and its value if keepsOld, or if they are not alike.
	old       []byte
	alike     bool // to the feature before, for the schema
	oldExpiry time.Duration
	oldRev    uint64
	err       error
}

// maxBatch is how many writes are committed together, each added box counted, and each 64
// KiB of values: 10 ms of work, and up to 64 MiB of the log, unless one write has more.
const maxBatch = 1024

type commitQueue struct {
	mu        sync.Mutex
	waiting   []*write
	hasLeader bool      // a goroutine is the commit leader
	idle      sync.Cond // hasLeader is false
	closed    bool
	wake      chan struct{} // wakes the committer, if writes wait for the disk
	ended     sync.WaitGroup

	// Used by the commit leader.
	batch   []*write
	entries []disk.Entry
	ids     []disk.Entry
	pending map[pendingKey]*write // the last write of the batch to a feature
	grown   map[*kv.Map]int64     // how the batch changes the bytes of a cache
	named   map[nameKey]*write    // those of the batch that have names
	// How many copies of a box exist after the batch's last write to it.
	pendingBoxes map[pendingBox]uint64
	buf          kv.Buffer
	keys         [][]byte // used by warm
	many         kv.ManyBuffer
	found        Found
	boxes        int // of the batch's features, and boxes
}

type pendingKey struct {
	m  *kv.Map
	id string
}

// target is the map that the write changes, nil: it is to boxes.
func (w *write) target() *kv.Map {
	if w.coll != nil {
		return w.coll.set.m
	}
	return w.m
}

// submit queues writes, whose done functions are called, perhaps by this goroutine.
// Writes of one call are committed together, if no others are between them.
func (st *Store) submit(ws ...*write) {
	for _, w := range ws {
		w.key = []byte(w.id)
	}
	q := &st.queue
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		for _, w := range ws {
			w.done(0, fmt.Errorf("%w: %q was not written", ErrClosed, w.id))
		}
		return
	}
	if st.o.Dir != "" {
		// The current batch may wait for a failed disk; and a record that is staged for
		// a commit that fails takes up room for a second.
		if err := st.db.Healthy(); err != nil {
			q.mu.Unlock()
			for _, w := range ws {
				if w.run == nil {
					st.counters.count(w, err)
				}
				w.done(0, err)
			}
			return
		}
	}
	q.waiting = append(q.waiting, ws...)
	if q.hasLeader {
		q.mu.Unlock()
		return
	}
	q.hasLeader = true
	q.mu.Unlock()
	if st.waitsForDisk {
		q.wake <- struct{}{} // It has room: hasLeader was false.
		return
	}
	st.lead()
}

// committer is the commit leader of batches that wait for the disk.
func (st *Store) committer() {
	for range st.queue.wake {
		st.lead()
	}
}

// lead commits batches until the queue is empty.
func (st *Store) lead() {
	q := &st.queue
	for {
		q.mu.Lock()
		n, weight := 0, 0
		for n < len(q.waiting) && (n == 0 || q.waiting[0].run == nil && q.waiting[n].run == nil && weight+q.waiting[n].weight() <= maxBatch) {
			weight += q.waiting[n].weight()
			n++
		}
		if n == 0 {
			q.hasLeader = false
			q.idle.Broadcast()
			q.mu.Unlock()
			return
		}
		q.batch = append(q.batch[:0], q.waiting[:n]...)
		rest := copy(q.waiting, q.waiting[n:])
		clear(q.waiting[rest:])
		q.waiting = q.waiting[:rest]
		q.mu.Unlock()
		st.commitBatch(q.batch)
		clear(q.batch)
	}
}

// commitBatch takes one batch through all steps.
func (st *Store) commitBatch(batch []*write) {
	if run := batch[0].run; run != nil {
		err := run()
		st.hub.publish()
		batch[0].done(0, err)
		return
	}
	q := &st.queue
	q.entries = q.entries[:0]
	clear(q.pending)
	clear(q.grown)
	clear(q.pendingBoxes)
	clear(q.named)
	q.boxes, st.numbered = 0, st.revision
	if len(batch) > 1 {
		q.warm(batch)
	}
	judged := st.Reading(AtPrimary)
	var failed error
	for _, w := range batch {
		if w.err = st.prepare(w, len(batch) > 1); w.err == nil && !w.repeated() {
			q.entries = w.appendEntries(q.entries)
		}
	}
	if len(q.entries) > 0 {
		if failed = st.timed(q.entries); failed != nil {
			for _, w := range batch {
				if w.err == nil && !w.known {
					w.err = errors.Join(failed, w.discard())
				}
			}
		}
	}
	st.judgeAgain(batch, judged, failed)
	var undo []*write
	for i, w := range batch {
		if w.err == nil && !w.repeated() {
			if w.err = st.publish(w); w.err != nil {
				undo = append(undo, w)
				w.unseen(batch[i+1:])
			}
		}
	}
	// After the later writes of the batch, which may be to the same features.
	for _, w := range undo {
		w.err = st.undo(w)
	}
	if len(q.named) > 0 {
		st.follow(batch)
	}
	st.hub.publish()
	for _, w := range batch {
		st.counters.count(w, w.err)
		w.done(w.revision, w.err)
	}
	clear(q.entries)
}

func (w *write) entry() disk.Entry {
	e := disk.Entry{
		Kind: w.kind, Key: w.key, Value: w.value,
		Revision: w.revision, Expiry: int64(w.expiry), Old: w.old, OldExpiry: int64(w.oldExpiry), OldRevision: w.oldRev,
	}
	if w.rec != nil {
		e.Collection, e.Flags = w.rec.num, recordFlag
	} else {
		e.Collection = w.coll.num
	}
	if w.expired != 0 || w.as.Client != 0 && w.kind == disk.Put && w.oldRev != 0 && !w.replaces {
		e.Flags |= expiredFlag
	}
	if w.moved {
		e.Flags |= movedFlag
	}
	w.store().name(&e, w.as)
	return e
}

// store is the write's, to features or records.
func (w *write) store() *Store {
	if w.rec != nil {
		return w.rec.st
	}
	return w.coll.st
}

// discard takes back what was staged.
func (w *write) discard() error {
	if w.ref == 0 {
		return nil
	}
	return w.target().Discard(w.ref)
}

// undo reverts a write that is in the log, and could not be published: it logs the
// state before that write again, so that the log agrees with what readers see.
func (st *Store) undo(w *write) error {
	if w.box != nil {
		return st.undoBoxes(w)
	}
	is := w.entry()
	undo := disk.Entry{Collection: is.Collection, Kind: disk.Delete, Flags: is.Flags & (recordFlag | movedFlag), Key: w.key, Revision: st.revision + 1}
	if st.name(&undo, w.as); w.as.Client != 0 {
		undo.Flags |= undoneFlag
	}
	if w.kind == disk.Put {
		undo.OldExpiry, undo.OldRevision = int64(w.expiry), w.revision
		if w.rec == nil {
			undo.Old = w.value
		}
	}
	v, _, err := w.target().Get(w.key, &kv.Buffer{})
	if err == nil {
		undo.Kind, undo.Value, undo.Expiry = disk.Put, v.Value, v.Expiry
		if w.rec != nil {
			undo.Value = AppendRecordValue(nil, v.Value, v.Flags)
		}
	}
	if err == nil || errors.Is(err, kv.ErrNotFound) {
		err = st.commit([]disk.Entry{undo})
	}
	if err != nil {
		st.o.Logger.Error("a write is in the log, but could not be carried out or undone", "collection", w.name(), "id", w.id, "revision", w.revision, "error", err)
	}
	return errors.Join(w.err, err)
}

// runAlone runs f as a batch of its own, in the commit leader.
func (st *Store) runAlone(f func() error) error {
	ended := make(chan error, 1)
	st.submit(&write{run: f, done: func(_ uint64, err error) { ended <- err }})
	return <-ended
}

// publish makes a write visible to readers.
func (st *Store) publish(w *write) error {
	if w.box != nil {
		return st.publishBoxes(w)
	}
	m := w.target()
	for _, v := range w.evicts {
		if err := m.EvictAs(v.Key, v.revision); err != nil {
			return err
		}
	}
	var err error
	if w.kind == disk.Delete {
		if w.coll != nil {
			w.coll.set.changes.deleted = w.revision
		}
		err = m.DeleteAs(w.key, kv.Condition{}, w.revision)
	} else {
		err = m.Publish(w.key, w.ref)
	}
	if err == nil && w.coll != nil {
		w.seen()
	}
	return err
}

// unseen handles a write that was not published. For the schema, the feature's next
// write follows the state before this one.
func (w *write) unseen(after []*write) {
	if w.coll == nil || w.alike {
		return
	}
	for _, n := range after {
		if n.err == nil && n.box == nil && n.coll == w.coll && n.id == w.id {
			n.old, n.oldRev, n.alike = w.old, w.oldRev, false
			return
		}
	}
}

// seen updates the collection's schema after a write became visible. The values that it
// opens were opened before.
func (w *write) seen() {
	w.coll.revision.Store(w.revision)
	if w.alike {
		return
	}
	var before, now *feature.View
	var views [2]feature.View
	if w.oldRev != 0 {
		views[0], _ = feature.Open(w.old)
		before = &views[0]
	}
	if w.kind == disk.Put {
		views[1], _ = feature.Open(w.value)
		now = &views[1]
	}
	w.coll.set.schema.change(before, now)
}
