package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/disk"
)

// Options of a Store. The zero value keeps nothing: all is in memory.
type Options struct {
	// Dir is the data directory, made if it is missing. Empty: none.
	Dir  string
	Sync disk.Sync
	// LogBytes is about how much of the log is kept for watchers and replicas; 0:
	// 256 MiB.
	LogBytes int64
	// SlabBytes bounds each part of a collection's memory: tree, records, keys.
	// It is address space until it is used. 0: 64 GiB.
	SlabBytes int64
	NodeBytes int // of trees; 0: rstar.DefaultNodeBytes
	// Memory, if not nil, makes the memory of collections: a server lets clients
	// read it. nil: private memory.
	Memory func(collection string, part Part, bytes int64) (Memory, error)
	// BootID is in each tree's header, for remote readers; 0: a random one.
	BootID uint64
	Logger *slog.Logger // nil: none
	// Now is the time since the Unix epoch, never going back; nil: the clock.
	Now func() time.Duration
	// Workers load collections at the start; 0: one for each processor.
	Workers int
	Watch   WatchLimits

	disk func(dir string, o disk.Options) (*disk.DB, error) // tests
}

// filterCache is how many compiled filters are kept: 50 us each saved.
const filterCache = 256

// DefaultSlabBytes is Options.SlabBytes if that is 0.
const DefaultSlabBytes = 64 << 30

// Store has collections of features, and their log. All methods are safe for
// concurrent use.
type Store struct {
	o            Options
	db           *disk.DB
	now          func() time.Duration
	boot         uint64
	waitsForDisk bool // writes do
	keepsOld     bool // values before are needed: who is inside the door

	filters *filter.Cache

	door     door
	hub      hub
	revision uint64 // of the last write that was committed
	numbered uint64 // of the last write that was prepared

	mu     sync.RWMutex
	names  map[string]*Collection
	nums   map[uint32]*Collection
	next   uint32
	closed bool
}

// Collection is a named set of features.
type Collection struct {
	st      *Store
	name    string
	num     uint32
	o       CollectionOptions
	set     *set
	created uint64 // revision
	free    []func()
	dropped atomic.Bool
	using   sync.WaitGroup
}

// CollectionOptions configure a collection. They do not change.
type CollectionOptions struct {
	Space feature.Space `json:"space"`
	// Title and Description are for people.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// Open opens a store, and loads what it has kept.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.SlabBytes == 0 {
		o.SlabBytes = DefaultSlabBytes
	}
	if o.SlabBytes < 0 || o.LogBytes < 0 || o.Workers < 0 {
		return nil, fmt.Errorf("%w: %d bytes of memory, %d of log, %d workers: below 0",
			ErrOptions, o.SlabBytes, o.LogBytes, o.Workers)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = sinceEpoch()
	}
	if o.disk == nil {
		o.disk = disk.Open
	}
	st := &Store{
		o: o, now: o.Now, boot: cmp.Or(o.BootID, rand.Uint64()), filters: filter.NewCache(filterCache, filter.Options{}),
		names: map[string]*Collection{}, nums: map[uint32]*Collection{}, next: 1,
	}
	st.door.wake = make(chan struct{}, 1)
	limits, err := o.Watch.withDefaults()
	if err != nil {
		return nil, err
	}
	st.hub.init(st, limits)
	db, err := o.disk(o.Dir, disk.Options{
		Sync: o.Sync, LogBytes: o.LogBytes, Logger: o.Logger, IDsOnly: o.Dir == "",
	})
	if err != nil {
		return nil, err
	}
	st.db, st.revision = db, db.Revision()
	if o.Dir == "" {
		// Above those of the store that this one takes the place of.
		st.revision = uint64(st.now()) >> 8
	}
	st.waitsForDisk = o.Dir != "" && o.Sync == disk.SyncAlways
	st.keepsOld = o.Dir != "" // The log has them.
	if err := st.restore(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if st.waitsForDisk {
		st.door.gone.Go(st.committer)
	}
	return st, nil
}

// sinceEpoch is a clock that does not follow the system's when that is set.
func sinceEpoch() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Duration(began.UnixNano()) + time.Since(began) }
}

// Close ends reads and writes, waits for those under way, and closes the log.
// Writes that wait are refused with ErrClosed.
func (st *Store) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return nil
	}
	st.closed = true
	st.mu.Unlock()
	st.shut()
	st.hub.close()
	for _, c := range st.Collections() {
		c.close()
	}
	return st.db.Close()
}

// shut closes the door, and waits until nobody is inside.
func (st *Store) shut() {
	d := &st.door
	d.mu.Lock()
	d.closed = true
	refused := d.queue
	d.queue = nil
	for d.busy { // Who is inside finds the queue empty, and comes out.
		d.mu.Unlock()
		time.Sleep(time.Millisecond)
		d.mu.Lock()
	}
	d.mu.Unlock()
	close(d.wake)
	d.gone.Wait()
	for _, w := range refused {
		w.done(0, fmt.Errorf("%w: %q was not written", ErrClosed, w.id))
	}
}

// Collections are all there are, by name.
func (st *Store) Collections() []*Collection {
	st.mu.RLock()
	defer st.mu.RUnlock()
	var all []*Collection
	for _, c := range st.names {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Collection) int { return cmp.Compare(a.name, b.name) })
	return all
}

// Collection is that of a name. ErrUnknownCollection: there is none.
func (st *Store) Collection(name string) (*Collection, error) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if c := st.names[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
}

// MaxNameBytes is the longest name of a collection.
const MaxNameBytes = 128

// CheckName finds what no collection may be called.
func CheckName(name string) error {
	if name == "" || len(name) > MaxNameBytes || !utf8.ValidString(name) {
		return fmt.Errorf("%w: %q, want 1 to %d bytes of UTF-8", ErrName, name, MaxNameBytes)
	}
	return nil
}

// Create makes a collection, unless there is one of that name with the same
// options. ErrCollectionExists: it has others.
func (st *Store) Create(name string, o CollectionOptions) (*Collection, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if o.Space > feature.Planar {
		return nil, fmt.Errorf("%w: space %d", ErrOptions, o.Space)
	}
	meta, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.closed {
		return nil, ErrClosed
	}
	if c := st.names[name]; c != nil {
		if c.o != o {
			return nil, fmt.Errorf("%w: %q is %v", ErrCollectionExists, name, c.o.Space)
		}
		return c, nil
	}
	c, err := st.make(name, st.next, o)
	if err != nil {
		return nil, err
	}
	err = st.through(func() error {
		c.created = st.number()
		return st.commit([]disk.Entry{{
			Collection: c.num, Kind: disk.Create, Key: []byte(name), Value: meta, Revision: c.created,
		}})
	})
	if err != nil {
		c.close()
		return nil, err
	}
	st.next++
	st.names[name], st.nums[c.num] = c, c
	return c, nil
}

// make makes the memory of a collection.
func (st *Store) make(name string, num uint32, o CollectionOptions) (_ *Collection, err error) {
	c := &Collection{st: st, name: name, num: num, o: o}
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
		if st.o.Memory != nil {
			parts[p], err = st.o.Memory(name, Part(p), size)
		} else {
			parts[p], err = ownMemory(size)
		}
		if err != nil {
			return nil, fmt.Errorf("store: collection %q: memory of its %v: %w", name, Part(p), err)
		}
		c.free = append(c.free, parts[p].Free)
	}
	c.set, err = newSet(st, o.Space, parts)
	return c, err
}

// Drop removes a collection with all that it has, and reports whether there was
// one.
func (st *Store) Drop(name string) (bool, error) {
	free, err := st.Retire(name)
	if free != nil {
		free()
	}
	return free != nil, err
}

// Retire is Drop up to where the memory is to be freed, which waits for reads that
// are under way. free is nil if there was no such collection, or after an error.
func (st *Store) Retire(name string) (free func(), err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	c := st.names[name]
	if c == nil || st.closed {
		return nil, nil
	}
	err = st.through(func() error {
		err := st.commit([]disk.Entry{{Collection: c.num, Kind: disk.Drop, Revision: st.number()}})
		if err == nil {
			c.dropped.Store(true)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	delete(st.names, name)
	delete(st.nums, c.num)
	return c.close, nil
}

// number is the next revision, for who is inside the door.
func (st *Store) number() uint64 { return st.revision + 1 }

// commit makes writes durable, in the order of their revisions.
func (st *Store) commit(entries []disk.Entry) error {
	last := entries[len(entries)-1].Revision
	logged := entries
	if st.o.Dir == "" {
		logged = st.idsOf(entries)
	}
	if len(logged) > 0 {
		if err := st.db.Commit(logged); err != nil {
			return err
		}
	}
	st.revision = last
	st.hub.collect(entries)
	return nil
}

// idsOf are those entries that change which ids there are, without their values,
// and with numbers of their own.
func (st *Store) idsOf(entries []disk.Entry) []disk.Entry {
	ids := st.door.ids[:0]
	next := st.db.Revision() + 1
	for _, e := range entries {
		if e.Kind == disk.Put && e.OldRevision != 0 {
			continue
		}
		if e.Kind == disk.Put {
			e.Value = nil
		}
		e.Old, e.OldRevision, e.Revision = nil, 0, next
		ids = append(ids, e)
		next++
	}
	st.door.ids = ids
	return ids
}

// Retire is Store.Retire of the collection.
func (c *Collection) Retire() (free func(), err error) { return c.st.Retire(c.name) }

// Name of the collection.
func (c *Collection) Name() string { return c.name }

// Options that it was created with.
func (c *Collection) Options() CollectionOptions { return c.o }

// Len is how many features there are, those included that have expired and are not
// removed yet.
func (c *Collection) Len() int { return c.set.m.Len() }

// close ends reads, and frees the memory.
func (c *Collection) close() {
	c.dropped.Store(true)
	c.using.Wait()
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
