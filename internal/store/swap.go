package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Swap exchanges the names of two collections of features, at one moment for readers, for
// writers and on disk: one commit of the log changes both. So a collection that was loaded
// beside another one takes its place. Options, features and revisions stay with their
// collection, and so does a *Collection; Store.Collection finds the current one of a
// name. Watchers of both end with ErrSwapped, which is an ErrLagged, too: search again.
//
// ErrUnknownCollection: there is none of one of the names. ErrKind: one is of another
// kind. ErrNotPermitted: Options.Collections has other options for the name. Then nothing
// was changed.
//
// ctx bounds an Owner's wait for its clients alone.
func (st *Store) Swap(ctx context.Context, a, b string) error {
	if a == b {
		return fmt.Errorf("%w: %q swapped with itself", ErrName, a)
	}
	if err := st.Ready(); err != nil {
		return err
	}
	wait, err := st.swap([2]string{a, b})
	if err != nil || wait == nil {
		return err
	}
	return wait(ctx)
}

// swap returns what waits for the Owner's clients.
func (st *Store) swap(names [2]string) (wait func(context.Context) error, err error) {
	if err := st.lock(true); err != nil {
		return nil, err
	}
	defer st.naming.Unlock()
	if err := st.still(); err != nil {
		return nil, err
	}
	var before, now [2]*Entry
	for i, name := range names {
		if before[i], err = st.swappable(name); err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		if err := st.mayHave(name, before[1-i].Features.Options()); err != nil {
			return nil, err
		}
	}
	err = st.runAlone(func() error {
		first := st.number()
		var entries [2]disk.Entry
		for i, e := range before {
			if entries[i], err = e.Features.entryAs(names[1-i], e.Features.Options(), first+uint64(i)); err != nil {
				return err
			}
		}
		st.joinEntries(entries[:])
		if err := st.commit(entries[:]); err != nil {
			return err
		}
		now = st.exchange(before, first)
		return nil
	})
	if err != nil || st.o.Owner == nil {
		return nil, err
	}
	return st.o.Owner.Swapped(before, now), nil
}

// exchange gives two collections each other's name, from a revision on. naming is held.
func (st *Store) exchange(before [2]*Entry, first uint64) (now [2]*Entry) {
	names := [2]string{before[0].Name, before[1].Name}
	for i, e := range before {
		e.Features.changed.Store(first + uint64(i))
		e.Features.named.Store(&names[1-i])
		now[1-i] = st.as(e, before[1-i])
	}
	st.rename(func(all map[string]*Entry) { all[names[0]], all[names[1]] = now[0], now[1] })
	before[0].ended.Store(true)
	before[1].ended.Store(true)
	return now
}

// swappable finds a collection of features whose slot has another number.
func (st *Store) swappable(name string) (*Entry, error) {
	e, err := st.Of(name, KindFeatures)
	if err == nil {
		err = e.Ready()
	}
	if err == nil && st.had[e.Number%MaxCollections] >= numbersOfSlot {
		err = fmt.Errorf("%w: %q was swapped too often", fault.ErrBusy, name)
	}
	return e, err
}

// as returns the collection of e under the name of other, in the slot of e.
func (st *Store) as(e, other *Entry) *Entry {
	n := &Entry{
		Name: other.Name, Kind: e.Kind, account: other.account, restored: other.restored,
		Tree: e.Tree, Records: e.Records, Features: e.Features, Memory: e.Memory,
	}
	if st.o.Owner != nil {
		slot := e.Number % MaxCollections
		n.Number = st.had[slot]<<slotBits | slot
		st.left[slot].Store(&formerly{e.Number, e.Name})
	}
	st.occupy(n)
	return n
}

// mayHave is ErrNotPermitted if the store's options give a collection other ones.
func (st *Store) mayHave(name string, o CollectionOptions) error {
	if s, is := st.spec(name); is && s.Kind == KindFeatures && s.Features != o {
		return fmt.Errorf("%w: collection %q has the options that the server was started with", fault.ErrNotPermitted, name)
	}
	return nil
}

// entryAs is its entry in the log with another name, or other options.
func (c *Collection) entryAs(name string, o CollectionOptions, revision uint64) (disk.Entry, error) {
	m := about{CollectionOptions: o}
	if !c.since.IsZero() {
		m.Created = time.Duration(c.since.UnixNano())
	}
	value, err := json.Marshal(m)
	return disk.Entry{Collection: c.num, Kind: disk.Alter, Key: []byte(name), Value: value, Revision: revision}, err
}

func (c *Collection) errSwapped() error {
	return fmt.Errorf("%w: %w: now it is %q", ErrLagged, ErrSwapped, c.Name())
}
