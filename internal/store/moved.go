package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// What a move writes
//
// A move copies slots from the store of one group into that of another, and then drops them
// in the first one (docs/decisions/many-groups.md). It writes through the commit queue, as
// clients do, so that secondaries and restarts have the copies. Its writes differ in this:
//
//	judge   only slots are written that the store does not have: what comes late from a
//	        move that has ended changes nothing. There are no preconditions
//	log     entries have movedFlag
//	notify  watchers do not see them: no feature has changed
//
// Revisions and the numbers of collections are each group's own, so a copy has the name of
// its collection, and gets a revision where it is written.

// movedFlag marks entries of a move.
const movedFlag = 32

// slotsFormat is the format of a data directory with entries of moves. Watchers of
// older versions would get events of them.
const slotsFormat = 7

// MovedState is what an id has in a collection, as a move carries it.
type MovedState struct {
	Collection string
	Records    bool // of kept records, not of features
	Boxes      bool // of kept boxes: ID and Value are as in the directory
	ID         []byte
	// Value is a feature (feature.Append), or a record (AppendRecordValue). Empty: the id
	// was deleted.
	Value  []byte
	Expiry time.Duration // since the Unix epoch; 0: never
}

// moveAtOnce is how many writes of a move are submitted together: clients' writes wait for
// no more than these.
const moveAtOnce = 256

// CopyIn writes states in their order. It returns when they are durable, and in a group
// when its in-sync members have them. The bytes belong to the store.
//
// After an error some states may be in the log. The same ones may be written again, in the
// same order: a state is a result, not a change. ErrOwned: the store has the slot by now.
// ErrUnknownCollection, fault.ErrKind: the store has no such collection, yet or any more.
// ErrFeature, ErrCorrupt: a value is none. Other errors are those of Put.
//
// may, if not nil, is called in the commit leader before each state is written; its error is
// returned: the move's part that has these states has ended meanwhile.
func (st *Store) CopyIn(ctx context.Context, states []MovedState, may func() error) error {
	for len(states) > 0 {
		n := min(len(states), moveAtOnce)
		ws := make([]*write, n)
		for i := range ws {
			w, err := st.copyOf(&states[i])
			if err != nil {
				return err
			}
			w.may = may
			ws[i] = w
		}
		if err := st.writeMoved(ctx, ws); err != nil {
			return err
		}
		states = states[n:]
	}
	return nil
}

// copyOf is the write of a state.
func (st *Store) copyOf(m *MovedState) (*write, error) {
	kind := KindFeatures
	switch {
	case m.Records:
		kind = KindRecords
	case m.Boxes:
		kind = KindBoxes
	}
	e, err := st.Of(m.Collection, kind)
	if err != nil {
		return nil, err
	}
	if !e.durable() {
		return nil, fmt.Errorf("%w: %q is in memory alone", ErrUnknownCollection, m.Collection)
	}
	if m.Boxes {
		return e.movedBox(m.ID, m.Value)
	}
	w := e.movedWrite(m.ID)
	if len(m.Value) == 0 {
		return w, nil
	}
	w.kind, w.value, w.expiry = disk.Put, m.Value, m.Expiry
	if m.Records {
		_, _, err = cutRecordValue(m.Value)
	} else if _, parsed := feature.Parse(m.Value); parsed != nil {
		err = fmt.Errorf("%w: %q: %w", ErrFeature, m.ID, parsed)
	}
	return w, err
}

// movedBox is the write by a move of how many copies of a box exist. Without a value it is not.
func (e *Entry) movedBox(key, value []byte) (*write, error) {
	n, err := boxCountOf(&disk.Entry{Kind: disk.Put, Key: key, Value: value})
	if len(value) == 0 {
		n, err = boxCountOf(&disk.Entry{Kind: disk.Delete, Key: key})
	}
	return &write{moved: true, id: e.Name, box: &boxWrite{c: e.Boxes, set: []boxCount{n}}}, err
}

// movedWrite is a delete by a move.
func (e *Entry) movedWrite(id []byte) *write {
	w := &write{moved: true, kind: disk.Delete, id: string(id)}
	if e.Kept != nil {
		w.rec, w.m = e.Kept, e.Kept.Of(id)
	} else {
		w.coll = e.Features
	}
	return w
}

// movedDelete deletes what is at a key.
func (e *Entry) movedDelete(key []byte) (*write, error) {
	if e.Boxes != nil {
		return e.movedBox(key, nil)
	}
	return e.movedWrite(key), nil
}

// writeMoved makes writes, and waits for them, unless ctx has ended before. To delete what
// is not there is no error, nor is it if its collection was dropped.
func (st *Store) writeMoved(ctx context.Context, ws []*write) (err error) {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	results := make(chan error, len(ws))
	for _, w := range ws {
		w.done = func(_ uint64, err error) {
			if w.kind == disk.Delete && (errors.Is(err, kv.ErrNotFound) || errors.Is(err, ErrUnknownCollection)) {
				err = nil
			}
			results <- err
		}
	}
	st.submit(ws...)
	for range ws {
		if failed := <-results; err == nil {
			err = failed
		}
	}
	return err
}

// prepareMoved is called by the commit leader before it stages, or applies, an entry of a
// move.
func (st *Store) prepareMoved() error {
	st.hide()
	return st.db.Require(slotsFormat)
}

// DropSlots deletes what the store has of parts that are not its own, in all collections,
// and returns how many ids and boxes. may is that of CopyIn. What is left after an error, the next call
// drops. ErrOwned: the store has one of the slots, and nothing of it was dropped.
func (st *Store) DropSlots(ctx context.Context, set *Parts, may func() error) (dropped int, err error) {
	at := SlotCursor{}
	for !at.Done {
		var ws []*write
		at, err = st.eachID(ctx, set, at, func(e *Entry, keys *disk.Keys) (bool, error) {
			w, err := e.movedDelete(keys.Key())
			if err != nil {
				return false, err
			}
			w.may = may
			ws = append(ws, w)
			return len(ws) < moveAtOnce, nil
		})
		if err == nil && len(ws) > 0 {
			err = st.writeMoved(ctx, ws)
		}
		if err != nil {
			return dropped, err
		}
		dropped += len(ws)
	}
	return dropped, nil
}

// Settle looks whether the store has ids or boxes of parts that are not its own. If it has none,
// readers do not look for them any more. It goes through all until it finds one: a
// second for some million. Each member calls it when a move has ended, and after its start.
func (st *Store) Settle(ctx context.Context) (clean bool, err error) {
	var others Parts
	seen, hides, hidesBoxes := uint64(0), false, false
	if err := st.runAlone(func() error {
		s := st.owned.Load()
		if s == nil {
			return nil
		}
		seen, hides, hidesBoxes = st.hidden, s.hides, s.hidesBoxes
		if hides {
			others.SlotSet = s.Owned.others()
		}
		if !hidesBoxes || s.Places == nil {
			return nil
		}
		for _, part := range s.Places.RangesOfOthers(s.Group) {
			if err := others.AddRange(s.Places, part, false); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || !hides && !hidesBoxes {
		return err == nil, err
	}
	found := false
	for at := (SlotCursor{}); !at.Done; {
		at, err = st.eachID(ctx, &others, at, func(*Entry, *disk.Keys) (bool, error) {
			found = true
			return false, nil
		})
		if found || err != nil {
			return false, err
		}
	}
	err = st.runAlone(func() error {
		if clean = st.hidden == seen; clean { // Otherwise some may have come meanwhile.
			now := *st.owned.Load()
			now.hides, now.hidesBoxes = false, false
			st.owned.Store(&now)
		}
		return nil
	})
	return clean, err
}
