package store

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Writes to kept records, and their path through the commit queue.

// Put stores a record in place of the one that its key has, if there is one, and returns
// its revision. It is durable when Put returns, as far as Options.Sync says. e.Revision is
// not used. kv.ErrExists, kv.ErrConflict: the condition does not hold. These,
// record.ErrTooLarge, record.ErrFull, disk.ErrReadOnly, ErrClosed, ErrUnknownCollection (it
// was dropped), and in a group fault.ErrNotPrimary and fault.ErrTooFewInSync: nothing was
// changed.
func (c *Records) Put(e kv.Entry, cond kv.Condition) (revision uint64, err error) {
	w := c.write(disk.Put, string(e.Key), cond)
	w.value, w.expiry = AppendRecordValue(make([]byte, 0, len(e.Value)+flagsBytes), e.Value, e.Flags), e.Expiry
	return c.wait(w)
}

// Append puts e.Value behind the value of the present record, as kv.Map.Append does. Errors
// are Put's.
func (c *Records) Append(e kv.Entry, cond kv.Condition) (revision uint64, err error) {
	w := c.write(disk.Put, string(e.Key), cond)
	w.value, w.expiry, w.joins = AppendRecordValue(make([]byte, 0, len(e.Value)+flagsBytes), e.Value, e.Flags), e.Expiry, true
	return c.wait(w)
}

// Delete removes the record of a key. kv.ErrNotFound: there is none. Other errors are
// Put's.
func (c *Records) Delete(key []byte, cond kv.Condition) error {
	_, err := c.wait(c.write(disk.Delete, string(key), cond))
	return err
}

// Get returns the record of a key: see kv.Map.Get. fault.ErrMoved: another group has the
// key, or it moves there.
func (c *Records) Get(key []byte, b *kv.Buffer) (record.View, error) {
	v, _, err := c.Of(key).Get(key, b)
	if err == nil || errors.Is(err, kv.ErrNotFound) {
		err = cmp.Or(c.st.mayRead(key), err)
	}
	return v, err
}

func (c *Records) write(kind disk.Kind, key string, cond kv.Condition) *write {
	return &write{rec: c, m: c.Of([]byte(key)), kind: kind, id: key, cond: cond}
}

func (c *Records) wait(w *write) (revision uint64, err error) {
	ended := make(chan struct{})
	w.done = func(r uint64, e error) {
		revision, err = r, e
		close(ended)
	}
	c.st.submit(w)
	<-ended
	if err != nil {
		return 0, err
	}
	return revision, nil
}

// name of the write's collection, of features or records.
func (w *write) name() string {
	if w.rec != nil {
		return w.rec.name
	}
	return w.coll.Name()
}

// prepareRecord judges, numbers and stages a write.
func (st *Store) prepareRecord(w *write, more bool) error {
	if repeated, err := st.repeats(w); repeated || err != nil {
		return err
	}
	if w.rec.dropped.Load() {
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, w.rec.name)
	}
	if err := st.mayWrite(w); err != nil {
		return err
	}
	var err error
	if w.moved {
		err = st.prepareMoved()
	}
	switch {
	case err != nil:
	case w.expired != 0:
		err = st.stillExpired(w)
	default:
		err = st.judgeRecord(w)
	}
	if err != nil {
		return err
	}
	if w.joins {
		if err := st.join(w); err != nil {
			return err
		}
	}
	if err := st.room(w); err != nil {
		return err
	}
	w.revision = st.numbered + uint64(len(w.evicts)) + 1
	if w.kind == disk.Put {
		e, err := entryOf(w.key, w.value, w.revision, int64(w.expiry))
		if err != nil {
			return err
		}
		if len(e.Value) > MaxRecordBytes { // One entry too large would fail the batch.
			return fmt.Errorf("%w: value of %d bytes, limit %d of records that are kept", record.ErrTooLarge, len(e.Value), MaxRecordBytes)
		}
		if w.ref, err = w.m.Stage(e); err != nil {
			return err
		}
	}
	st.evicted(w, more)
	st.prepared(w, more)
	return nil
}

// judgeRecord compares a precondition with the record before, which it notes.
func (st *Store) judgeRecord(w *write) error {
	if p := st.queue.pending[pendingKey{w.m, w.id}]; p != nil {
		if p.kind == disk.Put {
			w.oldRev, w.oldExpiry = p.revision, p.expiry
		}
	} else {
		w.oldRev, w.oldExpiry = w.m.Peek(w.key)
	}
	has := w.oldRev
	if w.oldExpiry != 0 && w.oldExpiry <= st.now() && !w.moved {
		has = 0
	}
	w.replaces = has != 0
	err := w.cond.Check(w.key, has)
	if err == nil && has == 0 && w.kind == disk.Delete {
		err = fmt.Errorf("%w: %q", kv.ErrNotFound, w.key)
	}
	if w.kind == disk.Delete {
		w.oldRev, w.oldExpiry = 0, time.Duration(0) // The log has them of puts.
	}
	return err
}

// join makes an append, which was judged, a put of the whole value.
func (st *Store) join(w *write) error {
	if !w.replaces {
		return nil
	}
	var old []byte
	var flags uint16
	if p := st.queue.pending[pendingKey{w.m, w.id}]; p != nil {
		var err error
		if old, flags, err = cutRecordValue(p.value); err != nil {
			return err
		}
	} else {
		v, _, err := w.m.Get(w.key, &st.queue.buf)
		if errors.Is(err, kv.ErrNotFound) {
			w.replaces = false // It has expired since.
			return nil
		}
		if err != nil {
			return err
		}
		old, flags = v.Value, v.Flags
	}
	more, _, err := cutRecordValue(w.value)
	if err == nil {
		err = kv.CheckAppend(w.key, len(old), len(more))
	}
	if err != nil {
		return err
	}
	all := make([]byte, 0, len(old)+len(more)+flagsBytes)
	w.value = AppendRecordValue(append(all, old...), more, flags)
	w.expiry = w.oldExpiry
	return nil
}
