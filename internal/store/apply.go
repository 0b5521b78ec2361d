package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// joinEntries marks the entries of one write, so that the other members of a group carry
// out all of them or none.
func (st *Store) joinEntries(entries []disk.Entry) {
	if !st.o.Replicated {
		return
	}
	for i := range entries[:max(0, len(entries)-1)] {
		entries[i].Flags |= disk.Continues
	}
}

// Apply carries out entries that the group has committed: those of another member. They
// continue at Revision; what the store has is left out. After an error the store is of no
// use as a member.
//
// The first of a large batch may be committed before the others, and then the primary is
// asked to apply what its own commit leader has proposed. It waits for that: either the
// store has the batch then, or the group has not acknowledged it, and its first entries
// are applied.
func (st *Store) Apply(entries []disk.Entry) error {
	if entries = after(entries, st.Revision()); len(entries) == 0 {
		return nil
	}
	if slices.ContainsFunc(entries, ofRegistry) {
		st.naming.Lock() // Before the commit queue, as in Create.
		defer st.naming.Unlock()
	}
	return st.runAlone(func() error {
		if left := after(entries, st.revision); len(left) > 0 {
			return st.apply(left)
		}
		return nil
	})
}

// after returns the entries whose revisions are greater than one.
func after(entries []disk.Entry, revision uint64) []disk.Entry {
	for len(entries) > 0 && entries[0].Revision <= revision {
		entries = entries[1:]
	}
	return entries
}

// ofRegistry reports whether an entry changes the registry.
func ofRegistry(e disk.Entry) bool {
	return e.Kind == disk.Create || e.Kind == disk.Alter || e.Kind == disk.Drop
}

// apply is called by the commit leader.
func (st *Store) apply(entries []disk.Entry) error {
	if first := entries[0].Revision; first != st.number() {
		return fmt.Errorf("%w: revision %d after %d", errGap, first, st.revision)
	}
	byNumber := st.byNumber()
	for len(entries) > 0 {
		n := 1
		for n < len(entries) && ofRegistry(entries[n]) == ofRegistry(entries[0]) &&
			(!ofRegistry(entries[0]) || entries[n-1].Flags&disk.Continues != 0) {
			n++
		}
		run := st.applyWrites
		if ofRegistry(entries[0]) {
			run = st.applyNames
		}
		if err := run(entries[:n], byNumber); err != nil {
			return fmt.Errorf("revision %d: %w", entries[0].Revision, err)
		}
		entries = entries[n:]
	}
	return nil
}

// applyWrites carries out writes to collections: staged, in the log, published.
func (st *Store) applyWrites(entries []disk.Entry, byNumber map[uint32]*Entry) error {
	writes := make([]*write, len(entries))
	for i := range entries {
		e := &entries[i]
		of := byNumber[e.Collection]
		if e.Kind == disk.Term {
			continue
		}
		if e.Flags&boxFlag != 0 {
			if err := st.applyBox(e, of); err != nil {
				return err
			}
			continue
		}
		err := st.applySlot(e)
		if err != nil {
			return err
		}
		switch records := e.Flags&recordFlag != 0; {
		case of != nil && of.Kept != nil && records:
			writes[i], err = of.Kept.stage(e)
		case of != nil && of.Features != nil && !records:
			writes[i], err = st.stage(e, of.Features)
		default:
			err = fmt.Errorf("%w: %v in collection %d, which has neither features nor records", ErrCorrupt, e.Kind, e.Collection)
		}
		if err != nil {
			return err
		}
	}
	if err := st.keep(entries); err != nil {
		return err
	}
	for i := 0; i < len(entries); i++ {
		e := &entries[i]
		of := byNumber[e.Collection]
		var err error
		switch {
		case writes[i] != nil:
			if err = st.publish(writes[i]); errors.Is(err, kv.ErrNotFound) && e.Kind == disk.Delete {
				err = nil // It had expired, and was removed from memory.
			}
		case e.Kind == disk.Term || of == nil: // of: a bulk load, which is in the log alone
		case e.Flags&disk.Continues != 0 && i+1 < len(entries):
			err = of.Boxes.applyMove(e, &entries[i+1])
			i++
		default:
			err = of.Boxes.applyCount(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stage is prepare without judgement.
func (st *Store) stage(e *disk.Entry, c *Collection) (*write, error) {
	w := &write{
		coll: c, kind: e.Kind, id: string(e.Key), key: e.Key, value: e.Value, expiry: time.Duration(e.Expiry), revision: e.Revision,
		old: e.Old, oldExpiry: time.Duration(e.OldExpiry), oldRev: e.OldRevision,
	}
	if e.Kind == disk.Delete {
		return w, nil
	}
	now, err := feature.Open(e.Value)
	if err != nil {
		return nil, err
	}
	if now.HasAltitudes() {
		if err := st.db.Require(altitudesFormat); err != nil {
			return nil, err
		}
	}
	if w.oldRev != 0 {
		before, err := feature.Open(e.Old)
		if err != nil {
			return nil, err
		}
		w.alike = alike(&before, &now)
	}
	w.ref, err = c.set.m.Stage(kv.Entry{Key: e.Key, Value: e.Value, Expiry: time.Duration(e.Expiry), Revision: e.Revision})
	return w, err
}

// applyCount makes the number of copies of a box that of an entry.
func (c *Boxes) applyCount(e *disk.Entry) error {
	n, err := boxCountOf(e)
	if err != nil {
		return err
	}
	return c.setCount(n)
}

// setCount makes the number of copies of a box that of n.
func (c *Boxes) setCount(n boxCount) error {
	has, err := c.count(n.Item)
	for ; err == nil && has < n.n; has++ {
		err = c.tree.Insert(n.Rect, n.ID)
	}
	for ; err == nil && has > n.n; has-- {
		_, err = c.tree.Delete(n.Rect, n.ID)
	}
	if err == nil {
		c.counted(n)
	}
	return err
}

// applyMove applies the two entries of a write: a move, which a search sees at one of its
// places, or two counts.
func (c *Boxes) applyMove(a, b *disk.Entry) error {
	from, err := boxCountOf(a)
	if err != nil {
		return err
	}
	to, err := boxCountOf(b)
	if err != nil {
		return err
	}
	hasFrom, err := c.count(from.Item)
	if err != nil {
		return err
	}
	hasTo, err := c.count(to.Item)
	if err != nil {
		return err
	}
	if from.ID != to.ID || from.Item == to.Item || hasFrom != from.n+1 || hasTo+1 != to.n {
		return errors.Join(c.applyCount(a), c.applyCount(b))
	}
	if _, err := c.tree.Update(from.Rect, to.Rect, from.ID); err != nil {
		return err
	}
	c.counted(from)
	c.counted(to)
	return nil
}

// boxCountOf reads an entry of boxes.
func boxCountOf(e *disk.Entry) (boxCount, error) {
	value := e.Value
	if e.Kind == disk.Delete {
		value = []byte{1, 0, 0, 0, 0, 0, 0, 0} // parseBox wants a count.
	}
	it, n, err := parseBox(e.Key, value)
	if e.Kind == disk.Delete {
		n = 0
	}
	return boxCount{it, n}, err
}

// applyNames carries out one change of the registry. naming is held.
func (st *Store) applyNames(entries []disk.Entry, byNumber map[uint32]*Entry) error {
	e := &entries[0]
	of := byNumber[e.Collection]
	switch {
	case e.Kind == disk.Create:
		return st.applyCreate(e, byNumber)
	case len(entries) == 2 && e.Kind == disk.Drop:
		return st.applyBulk(entries, of, byNumber)
	case of == nil: // a bulk load
		if err := st.keep(entries); err != nil {
			return err
		}
		if e.Kind == disk.Drop {
			delete(st.loads, e.Collection)
		}
		return nil
	case e.Kind == disk.Drop:
		if err := st.keep(entries); err != nil {
			return err
		}
		_, dropped := of.logged()
		dropped.Store(true)
		st.end(of)
		delete(byNumber, e.Collection)
		st.freeing.Go(func() { st.free(of) })
		return nil
	case len(entries) == 2:
		other := byNumber[entries[1].Collection]
		if of.Features == nil || other == nil || other.Features == nil || string(e.Key) != other.Name || string(entries[1].Key) != of.Name {
			return fmt.Errorf("%w: collections %d and %d are swapped", ErrCorrupt, e.Collection, entries[1].Collection)
		}
		if err := st.keep(entries); err != nil {
			return err
		}
		before := [2]*Entry{of, other}
		now := st.exchange(before, e.Revision)
		byNumber[e.Collection], byNumber[entries[1].Collection] = now[1], now[0]
		if st.o.Owner != nil {
			st.freeing.Go(func() { _ = st.o.Owner.Swapped(before, now)(context.Background()) })
		}
		return nil
	case of.Features == nil || string(e.Key) != of.Name:
		return fmt.Errorf("%w: collection %q becomes %q", ErrCorrupt, of.Name, e.Key)
	}
	var m about
	if err := json.Unmarshal(e.Value, &m); err != nil {
		return fmt.Errorf("%w: options of collection %q: %w", ErrCorrupt, of.Name, err)
	}
	if err := st.keep(entries); err != nil {
		return err
	}
	of.Features.altered.Store(&m.CollectionOptions)
	return nil
}

// applyCreate makes a collection.
func (st *Store) applyCreate(e *disk.Entry, byNumber map[uint32]*Entry) error {
	made, err := st.fromLog(disk.Meta{
		Collection: e.Collection, Created: e.Revision, Changed: e.Revision, Name: string(e.Key), Metadata: e.Value,
	})
	if err != nil {
		return err
	}
	if made == nil {
		st.loads[e.Collection] = false
		return st.keep([]disk.Entry{*e})
	}
	switch other := st.named(made.Name); {
	case other != nil:
		err = fmt.Errorf("%w: %q, of %s in memory alone", ErrCollectionExists, made.Name, other.Kind)
	default:
		err = st.requires(made)
	}
	if err == nil {
		err = st.giveNumbers(made)
	}
	if err == nil {
		err = st.keep([]disk.Entry{*e})
	}
	if err != nil {
		made.close()
		return err
	}
	made.restored = true // Clients may drop it, as after a restart.
	st.enter(made)
	byNumber[e.Collection] = made
	return nil
}

// applyBulk ends a bulk load: a collection of boxes gets what the log has under another
// number (boxload.go).
func (st *Store) applyBulk(entries []disk.Entry, of *Entry, byNumber map[uint32]*Entry) error {
	num := entries[1].Collection
	if of == nil || of.Boxes == nil || byNumber[num] != nil || string(entries[1].Key) != of.Name {
		return fmt.Errorf("%w: collection %d takes the place of %d", ErrCorrupt, num, entries[0].Collection)
	}
	if err := st.keep(entries); err != nil {
		return err
	}
	delete(st.loads, num)
	delete(byNumber, entries[0].Collection)
	byNumber[num], of.Boxes.num = of, num
	clear(of.Boxes.more)
	return of.Boxes.restore(context.Background())
}
