package store

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Drop removes a collection with all its contents, and reports whether there was one.
// Searches of it fail with ErrUnknownCollection or ErrClosed; a tree looks empty, and
// refuses writes with rstar.ErrClosed. The memory is free soon after. ErrNotPermitted: the
// collection is permanent (Spec.Permanent). ErrNotReady: the store is being loaded, and may
// have the collection.
func (st *Store) Drop(name string) (bool, error) {
	return st.DropIf(name, func(*Entry) error { return nil })
}

// DropFeatures is Drop of a collection of features. Others stay.
func (st *Store) DropFeatures(name string) (bool, error) {
	return st.DropIf(name, func(e *Entry) error {
		if e.Features == nil {
			return ErrUnknownCollection
		}
		return nil
	})
}

// DropIf is Drop, if may allows it. If its error is ErrUnknownCollection, there is none.
func (st *Store) DropIf(name string, may func(*Entry) error) (bool, error) {
	return st.DropAs(Name{}, name, may)
}

// DropAs is DropIf of a write that may be repeated.
func (st *Store) DropAs(as Name, name string, may func(*Entry) error) (bool, error) {
	err := st.dropIf(&as, name, may)
	if errors.Is(err, ErrUnknownCollection) {
		return false, nil
	}
	return err == nil, err
}

func (st *Store) dropIf(as *Name, name string, may func(*Entry) error) (err error) {
	e, err := st.Lookup(name)
	if _, done, unknown := st.done(as); done || unknown != nil {
		return unknown
	}
	if err != nil {
		return err // Also if the disk has failed.
	}
	if err := st.lock(e.durable()); err != nil {
		return err
	}
	revoked := make(chan struct{})
	defer func() { // After the unlock: a card takes its time.
		if err == nil {
			<-revoked
		}
	}()
	defer st.naming.Unlock()
	if _, done, unknown := st.done(as); done || unknown != nil { // The first request has ended meanwhile.
		return unknown
	}
	if e = st.named(name); e == nil { // It was dropped meanwhile.
		return ErrUnknownCollection
	}
	err = may(e)
	if s, _ := st.spec(name); s.Permanent && !errors.Is(err, ErrUnknownCollection) {
		return fmt.Errorf("%w: collection %q always exists", fault.ErrNotPermitted, name)
	}
	if err == nil {
		err = st.still()
	}
	if err != nil {
		return err
	}
	if err := st.forget(*as, e); err != nil {
		return err
	}
	// Closing a tree waits for searches, and a caller that waited for its own search would
	// wait for ever. Until the memory is free the slot is taken, so there is never more
	// memory than slots.
	st.freeing.Go(func() {
		e.revoke()
		close(revoked)
		st.free(e)
	})
	return nil
}

// forget ends an entry, durably. naming is held.
func (st *Store) forget(as Name, e *Entry) error {
	if !e.durable() {
		st.end(e)
		return nil
	}
	return st.runAlone(func() error {
		num, dropped := e.logged() // Here: a bulk load may have changed the number.
		err := st.commitDrop(as, num)
		if err == nil {
			dropped.Store(true)
			st.end(e)
		}
		return err
	})
}

// commitDrop commits the drop of a collection. The commit leader calls it.
func (st *Store) commitDrop(as Name, num uint32) error {
	e := disk.Entry{Collection: num, Kind: disk.Drop, Revision: st.number()}
	st.name(&e, as)
	return st.commit([]disk.Entry{e})
}
