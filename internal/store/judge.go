package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// altitudesFormat is the format of a data directory with features that have altitudes.
const altitudesFormat = 4

// prepare judges, numbers and stages a write.
func (st *Store) prepare(w *write, more bool) error {
	switch {
	case w.box != nil:
		return st.prepareBoxes(w)
	case w.rec != nil:
		return st.prepareRecord(w, more)
	}
	if repeated, err := st.repeats(w); repeated || err != nil {
		return err
	}
	if w.coll.dropped.Load() {
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, w.coll.Name())
	}
	if err := st.mayWrite(w); err != nil {
		return err
	}
	old, err := st.before(w)
	if err != nil {
		return err
	}
	switch {
	case w.moved:
		err = st.prepareMoved()
	case w.expired != 0:
		err = st.stillExpired(w)
	default:
		err = judge(w, old)
	}
	if err != nil {
		return err
	}
	if w.patch != nil {
		if w.value, err = w.patch(old); err != nil {
			return err
		}
	}
	if w.replaces = old != nil; w.replaces {
		w.oldRev, w.oldExpiry = old.Revision, old.Expiry
	}
	w.revision = st.numbered + 1
	var now feature.View
	if w.kind == disk.Put {
		if now, err = feature.Open(w.value); err != nil {
			return err
		}
		if now.HasAltitudes() {
			if err := st.db.Require(altitudesFormat); err != nil {
				return err
			}
		}
	}
	if old != nil {
		w.alike = w.kind == disk.Put && alike(&old.View, &now)
		if st.keepsOld || !w.alike {
			w.old = append([]byte(nil), old.Value...)
		}
	} else if err := st.expiredBefore(w); err != nil {
		return err
	}
	if w.moved && w.kind == disk.Delete && w.oldRev == 0 {
		return kv.ErrNotFound
	}
	if w.kind == disk.Put {
		w.boxes = w.coll.set.numItems(&now)
		if err := w.coll.set.room(st.queue.boxes + w.boxes); err != nil {
			return err
		}
		w.ref, err = w.coll.set.m.Stage(kv.Entry{
			Key: w.key, Value: w.value, Expiry: w.expiry, Revision: w.revision,
		})
		if err != nil {
			return err
		}
	}
	st.queue.boxes += w.boxes
	st.prepared(w, more)
	return nil
}

// prepared counts a write that has its number. more: others of the batch may follow.
func (st *Store) prepared(w *write, more bool) {
	st.numbered++
	if more {
		if st.queue.pending == nil {
			st.queue.pending = map[pendingKey]*write{}
		}
		st.queue.pending[pendingKey{w.target(), w.id}] = w
	}
}

// expiredBefore finds the feature before, if it has expired and is not removed
// yet. For a precondition it does not exist; for watchers it did.
func (st *Store) expiredBefore(w *write) error {
	if st.queue.pending[pendingKey{w.target(), w.id}] != nil {
		return nil
	}
	st.queue.buf.LongestValue = 0
	v, err := w.coll.set.m.GetExpired(w.key, &st.queue.buf)
	if err == nil {
		w.old = append([]byte(nil), v.Value...)
		w.oldRev, w.oldExpiry = v.Revision, time.Duration(v.Expiry)
	}
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

// stillExpired is an error if the feature, or record, was written since.
func (st *Store) stillExpired(w *write) error {
	has, expiry := w.target().Peek(w.key)
	if has == w.expired && expiry <= st.now() && st.queue.pending[pendingKey{w.target(), w.id}] == nil {
		return nil
	}
	return fmt.Errorf("%w: %q", kv.ErrConflict, w.id)
}

// before returns the feature that a write finds, nil if there is none. It is valid
// until the next call.
func (st *Store) before(w *write) (*Found, error) {
	q := &st.queue
	f := &q.found
	if p := q.pending[pendingKey{w.target(), w.id}]; p != nil {
		if p.kind == disk.Delete {
			return nil, nil
		}
		*f = Found{ID: []byte(p.id), Value: p.value, Revision: p.revision, Expiry: p.expiry, Now: st.now()}
		return f, f.Open()
	}
	q.buf.LongestValue = 0
	v, _, err := w.coll.set.m.Get(w.key, &q.buf)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	*f = Found{ID: v.Key, Value: v.Value, Revision: v.Revision, Expiry: time.Duration(v.Expiry), Now: st.now()}
	return f, f.Open()
}

// judge compares a precondition with the feature before.
func judge(w *write, old *Found) error {
	has := uint64(0)
	if old != nil {
		has = old.Revision
	}
	if err := w.cond.Check(w.key, has); err != nil {
		return w.refused(err, has)
	}
	if has == 0 && (w.kind == disk.Delete || w.patch != nil) {
		return w.refused(kv.ErrNotFound, has)
	}
	return nil
}
