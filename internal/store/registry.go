package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/fault"
)

// The registry
//
// All collections of a server are in one table, whatever they hold. Names are one space.
// Create, Drop and Swap change the table, under naming, which they hold while they wait
// for the disk. Look-ups take no lock.
//
// If the store has an Owner, each collection has a number, and each shard of it. Remote
// clients resolve a name once for each connection, and then send the number. Its low bits
// are a slot of the table, the others count the collections that had the slot. So no
// number is used twice, and a client that knows the number of a dropped collection never
// reaches another one.
type registry struct {
	naming sync.Mutex // serialises create, drop and swap

	names atomic.Pointer[map[string]*Entry] // without the ended ones; replaced as a whole
	slots [MaxCollections]atomic.Pointer[Entry]
	// left is the collection that left a slot last: a recording may still ask for its name.
	left [MaxCollections]atomic.Pointer[formerly]
	had  [MaxCollections]uint32 // how many collections a slot has had
	// freeing are the goroutines that free dropped collections.
	freeing sync.WaitGroup
}

// formerly is the name that a number had.
type formerly struct {
	number uint32
	name   string
}

const (
	// slotBits of a collection's number are its slot.
	slotBits = 10
	// MaxCollections bounds the collections of a store with an Owner, shards included.
	MaxCollections = 1 << slotBits
	// numbersOfSlot is how many numbers a slot has.
	numbersOfSlot = 1 << (32 - slotBits)
)

// ByNumber returns the collection that a remote client means. ErrUnknownCollection: it has
// ended.
func (r *registry) ByNumber(n uint32) (*Entry, error) {
	e := r.slots[n%MaxCollections].Load()
	if e == nil || e.Number != n || e.ended.Load() {
		return nil, fmt.Errorf("%w: number %d", ErrUnknownCollection, n)
	}
	return e, nil
}

// NameOf returns the name that a number has, or had last.
func (r *registry) NameOf(n uint32) string {
	slot := n % MaxCollections
	if e := r.slots[slot].Load(); e != nil && e.Number == n {
		return e.Name
	}
	if b := r.left[slot].Load(); b != nil && b.number == n {
		return b.name
	}
	return "dropped"
}

// named returns the collection of a name, nil if there is none.
func (r *registry) named(name string) *Entry { return (*r.names.Load())[name] }

// All returns all collections, by name; of a divided one the first shard.
func (r *registry) All() []*Entry {
	byName := func(a, b *Entry) int { return cmp.Compare(a.Name, b.Name) }
	return slices.SortedFunc(maps.Values(*r.names.Load()), byName)
}

// all returns All and the other shards.
func (r *registry) all() (all []*Entry) {
	for _, e := range *r.names.Load() {
		all = append(all, e.Parts()...)
	}
	return all
}

// rename replaces the map of names. naming is held.
func (r *registry) rename(f func(names map[string]*Entry)) {
	names := maps.Clone(*r.names.Load())
	f(names)
	r.names.Store(&names)
}

// Lookup returns the collection of a name. ErrUnknownCollection: there is none.
// ErrNotReady: the store is being loaded, and may have it.
func (st *Store) Lookup(name string) (*Entry, error) {
	notYet := st.Ready() // It may change meanwhile.
	if e := st.named(name); e != nil {
		return e, nil
	}
	if notYet != nil {
		return nil, notYet
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
}

// LookupShard is Lookup for a name that may be a shard's: that of the collection, and a
// number after a slash.
func (st *Store) LookupShard(name string) (*Entry, error) {
	of, number, is := strings.Cut(name, "/")
	e, err := st.Lookup(of)
	if err != nil || !is {
		return e, err
	}
	i, err := strconv.Atoi(number)
	if err != nil || e.Shards == nil || i < 0 || i >= len(e.Shards.All) {
		return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
	}
	return e.Shards.All[i], nil
}

// Of is Lookup of a collection of a kind. ErrKind: it is of another one.
func (st *Store) Of(name string, k Kind) (*Entry, error) {
	e, err := st.Lookup(name)
	if err == nil {
		err = e.Is(k)
	}
	return e, err
}

// Collection returns the features of a name.
func (st *Store) Collection(name string) (*Collection, error) {
	e, err := st.Of(name, KindFeatures)
	if err != nil {
		return nil, err
	}
	return e.Features, nil
}

// Collections returns all collections of features, by name.
func (st *Store) Collections() (all []*Collection) {
	for _, e := range st.All() {
		if e.Features != nil {
			all = append(all, e.Features)
		}
	}
	return all
}

// lock is held while the registry is changed. If the disk is in doubt, few callers are to
// wait for it: those that need it are refused, except for the ones that wait already.
func (st *Store) lock(durable bool) error {
	if st.closed.Load() {
		return ErrClosed
	}
	if durable {
		if err := st.db.Healthy(); err != nil {
			return err
		}
	}
	st.naming.Lock()
	if st.closed.Load() {
		st.naming.Unlock()
		return ErrClosed
	}
	return nil
}

// giveNumbers gives an entry and its shards numbers of the first free slots, which enter
// occupies. naming is held.
func (st *Store) giveNumbers(e *Entry) error {
	if st.o.Owner == nil {
		return nil
	}
	all := e.Parts()
	free := all
	for slot := 0; slot < MaxCollections && len(free) > 0; slot++ {
		if st.slots[slot].Load() == nil && st.had[slot] < numbersOfSlot {
			free[0].Number, free = st.had[slot]<<slotBits|uint32(slot), free[1:]
		}
	}
	if len(free) > 0 {
		return fmt.Errorf("%w: it can have %d collections, shards included, and has no room for %d more", fault.ErrBusy, MaxCollections, len(all))
	}
	return nil
}

// enter makes an entry known, by its name and its number. naming is held.
func (st *Store) enter(e *Entry) {
	for _, p := range e.Parts() {
		st.occupy(p)
	}
	st.rename(func(names map[string]*Entry) { names[e.Name] = e })
}

// occupy makes an entry known by its number.
func (st *Store) occupy(e *Entry) {
	if st.o.Owner == nil {
		return
	}
	st.o.Owner.Attach(e)
	st.had[e.Number%MaxCollections]++
	st.slots[e.Number%MaxCollections].Store(e)
}

// end takes an entry's name. naming is held.
func (st *Store) end(e *Entry) {
	for _, p := range e.Parts() {
		p.ended.Store(true)
	}
	if st.named(e.Name) == e {
		st.rename(func(names map[string]*Entry) { delete(names, e.Name) })
	}
}

// free closes an entry that has ended, and then frees its slots.
func (st *Store) free(e *Entry) {
	e.close()
	st.naming.Lock()
	defer st.naming.Unlock()
	for _, p := range e.Parts() {
		if slot := p.Number % MaxCollections; st.slots[slot].Load() == p {
			st.left[slot].Store(&formerly{p.Number, p.Name})
			st.slots[slot].Store(nil)
		}
	}
	e.account.Close()
}

// WaitFreed waits until the memory of the collections that were dropped is free. The
// locks order it before later drops and after earlier ones, also for the race detector,
// which cannot see the order where requests go through shared memory.
func (r *registry) WaitFreed() {
	r.naming.Lock()
	r.naming.Unlock() //nolint:staticcheck // SA2001: this is only about the order
	r.freeing.Wait()
	r.naming.Lock()
	r.naming.Unlock() //nolint:staticcheck // SA2001: as above
}
