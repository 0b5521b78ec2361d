package store

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/disk"
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
	free     []func()
	dropped  atomic.Bool
	using    *users
}

// about is the log's metadata of a collection of features besides its name, as JSON.
type about struct {
	CollectionOptions
	Created time.Duration `json:"created,omitempty"` // since the Unix epoch
}

// MaxNameBytes is the longest name of a collection.
const MaxNameBytes = names.MaxBytes

// CheckName is ErrName if no collection of any kind may be created with the
// name: it is 1 to 128 bytes of UTF-8 without spaces, slashes and control characters,
// and neither "." nor "..". A collection with another name that an earlier version
// created can still be used.
func CheckName(name string) error { return names.Check(name) }

// Create creates a collection, unless there is one of that name with the same
// options. ErrCollectionExists: it has others.
func (st *Store) Create(name string, o CollectionOptions) (*Collection, error) {
	if o.Space > feature.Planar {
		return nil, fmt.Errorf("%w: space %d", ErrOptions, o.Space)
	}
	meta := about{o, st.now()}
	value, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	if c, err := st.made(name, o); c != nil || err != nil {
		return c, err
	}
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := st.lockNames(); err != nil {
		return nil, err
	}
	defer st.naming.Unlock()
	if c, err := st.made(name, o); c != nil || err != nil {
		return c, err // It was created meanwhile.
	}
	c, err := st.make(name, st.newNumber(), meta)
	if err != nil {
		return nil, err
	}
	err = st.runAlone(func() error {
		c.created = st.number()
		c.changed.Store(c.created)
		err := st.commit([]disk.Entry{{
			Collection: c.num, Kind: disk.Create, Key: []byte(name), Value: value, Revision: c.created,
		}})
		if err == nil {
			st.mu.Lock()
			defer st.mu.Unlock()
			st.names[name], st.nums[c.num] = c, c
		}
		return err
	})
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// made returns the collection of a name with these options, nil: there is none.
func (st *Store) made(name string, o CollectionOptions) (*Collection, error) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	c := st.names[name]
	switch {
	case st.closed:
		return nil, ErrClosed
	case c != nil && c.Options() != o:
		return nil, c.Options().CheckSame(name, o)
	case st.boxes[name] != nil:
		return nil, fmt.Errorf("%w: %q has boxes", ErrCollectionExists, name)
	}
	return c, nil
}

// lockNames locks naming, unless the disk has failed, so that few callers wait for one
// that is in doubt.
func (st *Store) lockNames() error {
	st.mu.RLock()
	closed := st.closed
	st.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	if err := st.db.Healthy(); err != nil {
		return err
	}
	st.naming.Lock()
	return nil
}

// newNumber returns one that no collection has had.
func (st *Store) newNumber() uint32 {
	st.mu.Lock()
	defer st.mu.Unlock()
	num := st.next
	st.next++
	return num
}

// make allocates a collection's memory.
func (st *Store) make(name string, num uint32, m about) (_ *Collection, err error) {
	c := &Collection{st: st, num: num, o: m.CollectionOptions, using: newUsers()}
	c.named.Store(&name)
	c.altered.Store(&c.o)
	if m.Created != 0 {
		c.since = time.Unix(0, int64(m.Created)).UTC()
	}
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	var parts [IndexPart + 1]Memory
	for p := range parts {
		size := st.o.SlabBytes
		if Part(p) == RecordsPart {
			size = min(size, record.MaxSlabBytes) / record.SpanBytes * record.SpanBytes
		}
		if parts[p], err = st.memory(name, Part(p), size); err != nil {
			return nil, fmt.Errorf("store: collection %q: memory of its %v: %w", name, Part(p), err)
		}
		c.free = append(c.free, parts[p].Free)
	}
	c.set, err = newSet(st, c.o.Space, parts)
	return c, err
}

// memory allocates a part of a collection's memory.
func (st *Store) memory(name string, p Part, bytes int64) (Memory, error) {
	if st.o.Memory != nil {
		return st.o.Memory(name, p, bytes)
	}
	return ownMemory(bytes)
}

// Drop removes a collection with all its contents, and reports whether there was one.
func (st *Store) Drop(name string) (bool, error) {
	free, err := st.Retire(name)
	if free != nil {
		free()
	}
	return free != nil, err
}

// Retire is Drop without freeing the memory, which free does after waiting for
// in-flight reads. free is nil if there was no such collection, or after an error.
func (st *Store) Retire(name string) (free func(), err error) {
	return st.retire(func() *Collection { return st.names[name] })
}

// Retire is Store.Retire of the collection, whatever its name is.
func (c *Collection) Retire() (free func(), err error) {
	return c.st.retire(func() *Collection {
		if c.st.names[c.Name()] != c {
			return nil
		}
		return c
	})
}

// retire drops the collection that find finds in the maps. It calls find again when no
// swap can change them.
func (st *Store) retire(find func() *Collection) (free func(), err error) {
	found := func() *Collection {
		st.mu.RLock()
		defer st.mu.RUnlock()
		if st.closed {
			return nil
		}
		return find()
	}
	if found() == nil {
		return nil, nil // Also if the disk has failed.
	}
	if err := st.lockNames(); err != nil {
		return nil, err
	}
	defer st.naming.Unlock()
	c := found()
	if c == nil {
		return nil, nil
	}
	err = st.runAlone(func() error {
		err := st.commit([]disk.Entry{{Collection: c.num, Kind: disk.Drop, Revision: st.number()}})
		if err == nil {
			c.dropped.Store(true)
			st.mu.Lock()
			defer st.mu.Unlock()
			delete(st.names, c.Name())
			delete(st.nums, c.num)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.close, nil
}

// Name of the collection. Swap changes it.
func (c *Collection) Name() string { return *c.named.Load() }

// Options returns those that it was created with, or altered to.
func (c *Collection) Options() CollectionOptions { return *c.altered.Load() }

// Len is the number of features, including those that have expired and are not
// removed yet.
func (c *Collection) Len() int { return c.set.m.Len() }

// close ends reads, and frees the memory.
func (c *Collection) close() {
	c.dropped.Store(true)
	c.using.close()
	c.set.m.Close()
	_ = c.set.tree.Close()
	c.release()
}

func (c *Collection) release() {
	for _, f := range c.free {
		if f != nil {
			f()
		}
	}
	c.free = nil
}

// Tree is that of the features' boxes, whose ids are references of records.
func (c *Collection) Tree() *rstar.Tree { return c.set.tree }

// Map is that of the features' records by id. Only the store may write it.
func (c *Collection) Map() *kv.Map { return c.set.m }
