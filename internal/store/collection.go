package store

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/rstar"
)

// Collection is a named set of features.
type Collection struct {
	st      *Store
	named   atomic.Pointer[string]
	num     uint32
	o       CollectionOptions // with which it was created: the space stays
	altered atomic.Pointer[CollectionOptions]
	set     *set
	created uint64 // revision
	since   time.Time
	// revision of the last write; changed by the commit leader.
	revision atomic.Uint64
	changed  atomic.Uint64 // the revision with which it got its name
	dropped  atomic.Bool
	using    *users
}

// MaxNameBytes is the longest name of a collection.
const MaxNameBytes = names.MaxBytes

// CheckName is ErrName if no collection of any kind may be created with the
// name: it is 1 to 128 bytes of UTF-8 without spaces, slashes and control characters,
// and neither "." nor "..". A collection with another name that an earlier version
// created can still be used.
func CheckName(name string) error { return names.Check(name) }

// newNumber returns one that no collection in the log has had.
func (st *Store) newNumber() uint32 { return st.next.Add(1) }

// newCollection makes the features of an entry, in its memory.
func newCollection(st *Store, e *Entry, o CollectionOptions) (_ *Collection, err error) {
	c := &Collection{st: st, o: o, using: newUsers()}
	c.named.Store(&e.Name)
	c.altered.Store(&c.o)
	if c.set, err = newSet(st, o.Space, &e.Memory); err != nil {
		return nil, err
	}
	e.Tree, e.Records = c.set.tree, c.set.m
	return c, nil
}

// Name of the collection. Swap changes it.
func (c *Collection) Name() string { return *c.named.Load() }

// Options returns those that it was created with, or altered to.
func (c *Collection) Options() CollectionOptions { return *c.altered.Load() }

// Len is the number of features, including those that have expired and are not
// removed yet.
func (c *Collection) Len() int { return c.set.m.Len() }

// close ends reads, and waits for those in flight.
func (c *Collection) close() {
	c.dropped.Store(true)
	c.using.close()
	c.set.m.Close()
	_ = c.set.tree.Close()
}

// Tree is that of the features' boxes, whose ids are references of records.
func (c *Collection) Tree() *rstar.Tree { return c.set.tree }

// Map is that of the features' records by id. Only the store may write it.
func (c *Collection) Map() *kv.Map { return c.set.m }
