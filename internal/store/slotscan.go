package store

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// How a move reads
//
//	SlotScan   | r0: ids that existed then, each as it is when it is read |
//	SlotLog                    | r0+1 ............................. | r1 | ...
//
// A state that the scan has read may be newer than r0. The log from r0+1 on states what each
// write has left, so a copy that has written both in this order ends with what the log said
// last, or with the state at r0 of an id that was not written since.

const (
	// lookAtOnce is how many ids or entries a call looks at: an iterator of the disk lives
	// no longer.
	lookAtOnce = 64 << 10
	// moveBytes is the size of the values after which a call returns.
	moveBytes = 4 << 20
)

// SlotCursor is where a SlotScan is. The zero value is its beginning. It is good in any
// process, and at any member of the group that has its Revision.
type SlotCursor struct {
	Revision   uint64 // after which SlotLog has what the scan has not
	Collection uint32 // the number of the next one
	After      []byte // the last id of it that was looked at
	Done       bool
}

// SlotScan returns what ids of some parts have, up to most states (0: 1,024) and about 4 MiB,
// and where to continue: there may be none, and more to come. It looks at up to 65,536 ids
// of all. What has expired is left out. It needs a data directory.
func (st *Store) SlotScan(ctx context.Context, set *Parts, at SlotCursor, most int) (states []MovedState, next SlotCursor, err error) {
	if at.Revision == 0 { // In the commit leader: what is in the log is seen by readers, too.
		if err := st.runAlone(func() error { at.Revision = st.revision; return nil }); err != nil {
			return nil, at, err
		}
	}
	b, bytes := new(kv.Buffer), 0
	next, err = st.eachID(ctx, set, at, func(e *Entry, keys *disk.Keys) (bool, error) {
		id := keys.Key()
		if e.Boxes != nil {
			value, err := keys.Value()
			states = append(states, MovedState{Collection: e.Name, Boxes: true, ID: slices.Clone(id), Value: slices.Clone(value)})
			return err == nil && len(states) < cmp.Or(most, maxBatch), err
		}
		value, expiry, err := e.valueOf(id, b)
		if errors.Is(err, kv.ErrNotFound) {
			return true, nil // It has expired, or was deleted, as the log says.
		}
		if err != nil {
			return false, err
		}
		states = append(states, MovedState{Collection: e.Name, Records: e.Kept != nil, ID: slices.Clone(id), Value: value, Expiry: expiry})
		bytes += len(value)
		return len(states) < cmp.Or(most, maxBatch) && bytes < moveBytes, nil
	})
	return states, next, err
}

// valueOf returns a copy of what an id has, as the log has it.
func (e *Entry) valueOf(id []byte, b *kv.Buffer) (value []byte, expiry time.Duration, err error) {
	m := e.Records
	if e.Kept != nil {
		m = e.Kept.Of(id)
	}
	v, _, err := m.Get(id, b)
	switch {
	case errors.Is(err, kv.ErrClosed): // The collection was dropped.
		return nil, 0, kv.ErrNotFound
	case err != nil:
		return nil, 0, err
	case e.Kept != nil:
		value = AppendRecordValue(nil, v.Value, v.Flags)
	default:
		value = slices.Clone(v.Value)
	}
	return value, time.Duration(v.Expiry), nil
}

// eachID calls f with the keys of some parts in the directory, where keys stands, in the order of collections'
// numbers and of keys, until it returns false, or lookAtOnce were looked at. f may not wait.
func (st *Store) eachID(ctx context.Context, set *Parts, at SlotCursor, f func(e *Entry, keys *disk.Keys) (more bool, err error)) (SlotCursor, error) {
	all := st.byNumber()
	looked := 0
	for _, num := range slices.Sorted(maps.Keys(all)) {
		if num < at.Collection {
			continue
		}
		if num > at.Collection {
			at.Collection, at.After = num, nil
		}
		more, err := st.eachIDOf(ctx, all[num], set, &at, &looked, f)
		if !more || err != nil {
			return at, err
		}
		at.Collection, at.After = num+1, nil
	}
	at.Done = true
	return at, nil
}

// eachIDOf is eachID of one collection.
func (st *Store) eachIDOf(ctx context.Context, e *Entry, set *Parts, at *SlotCursor, looked *int,
	f func(e *Entry, keys *disk.Keys) (more bool, err error)) (more bool, err error) {
	if !set.of(e) {
		return true, nil
	}
	from := slices.Clone(at.After)
	if from != nil {
		from = append(from, 0) // the next one
	}
	keys, err := st.db.Keys(at.Collection, from)
	if err != nil {
		return false, err
	}
	defer keys.Close()
	for keys.Next() {
		if *looked == lookAtOnce {
			return false, nil
		}
		if *looked++; *looked%1024 == 0 && ctx.Err() != nil {
			return false, ended(ctx)
		}
		id := keys.Key()
		at.After = append(at.After[:0:0], id...)
		var value []byte
		if e.Boxes != nil {
			if value, err = keys.Value(); err != nil {
				return false, err
			}
		}
		if has, err := set.hasKey(e, id, value); err != nil {
			return false, err
		} else if !has {
			continue
		}
		if more, err := f(e, keys); !more || err != nil {
			return false, err
		}
	}
	return true, keys.Err()
}

// SlotOfEntry returns the slot of an entry of the log. It is not ok of an entry that is of
// none: of boxes, of a term, or of a change of collections.
func SlotOfEntry(e *disk.Entry) (slot uint16, ok bool) {
	if e.Kind != disk.Put && e.Kind != disk.Delete || e.Flags&boxFlag != 0 {
		return 0, false
	}
	return placement.SlotOf(e.Key), true
}

// SlotLog returns what writes have left of ids of some parts, from a revision on, in the
// order of the log: up to most states (0: 1,024) and about 4 MiB, and from which revision to
// continue. It looks at up to 65,536 entries, and is at the end of the log when that is
// Revision() + 1. What has a collection that was dropped since is left out.
// disk.ErrTrimmed: the log begins later, and the copy must begin again with a SlotScan.
func (st *Store) SlotLog(ctx context.Context, set *Parts, from uint64, most int) (states []MovedState, next uint64, err error) {
	all := st.byNumber()
	it, err := st.db.Log(from)
	if err != nil {
		return nil, from, err
	}
	next = from
	for bytes := 0; int(next-from) < lookAtOnce && len(states) < cmp.Or(most, maxBatch) && bytes < moveBytes && ctx.Err() == nil && it.Next(); {
		n := it.Entry()
		next = n.Revision + 1
		e := all[n.Collection]
		if e == nil {
			continue
		}
		has, err := set.hasEntry(e, &n)
		if err != nil {
			return nil, from, errors.Join(err, it.Close())
		}
		if !has {
			continue
		}
		states = append(states, MovedState{e.Name, n.Flags&recordFlag != 0, n.Flags&boxFlag != 0, n.Key, n.Value, time.Duration(n.Expiry)})
		bytes += len(n.Value)
	}
	err = errors.Join(it.Err(), it.Close())
	if err == nil && ctx.Err() != nil {
		err = ended(ctx)
	}
	return states, next, err
}

// byNumber returns the collections in the log by their numbers there.
func (st *Store) byNumber() map[uint32]*Entry {
	all := map[uint32]*Entry{}
	for _, e := range st.All() {
		if e.durable() {
			num, _ := e.logged()
			all[num] = e
		}
	}
	return all
}
