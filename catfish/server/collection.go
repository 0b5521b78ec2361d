package server

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
)

// collection is a named tree, or records, in slabs that every device has
// registered.
//
//	loading -----> serving -----> dropped
//	       SetReady        drop
type collection struct {
	num     uint32
	name    string
	tree    *rstar.Tree // of boxes; nil: it has records
	records *kv.Map     // nil: it has boxes
	// features has a tree and records of its own, which are those above.
	features *store.Collection
	boxes    *store.Boxes // kept ones, in the tree above; nil: not kept
	// The memory goes with the data when names are swapped: swap.go.
	slab    *slabMemory     // of the tree, or of the records
	index   *slabMemory     // of the records' keys
	heap    *slabMemory     // of the features' records
	account *limits.Account // of the client that created it; nil: the server's owner
	// shards are nil if the collection is not divided. This one has number shard.
	shards *shards
	shard  int
	// owned and strayed count the requests about a shard that its owner carried
	// out, and that other workers carried out.
	owned, strayed atomic.Uint64
	// kept: the collection existed when the store was opened, and the server's owner
	// does not name it. Clients may drop it, as they could when it was created.
	kept bool
	// opened is when a client last got the memory's address (monotonic).
	opened atomic.Int64

	loading atomic.Bool // clients cannot open it yet
	// dropped is set before the tree is closed, and when the name was swapped. A search
	// that ran meanwhile may have found nothing for that reason: read dropped after it.
	dropped atomic.Bool
}

// collections is a table of fixed size. Workers look up numbers without a lock;
// names are resolved once per connection.
//
// The low bits of a number are the slot, the others count the collections that
// had the slot. So no number is used twice, and a client that knows the number of a
// dropped collection never reaches another one.
type collections struct {
	slots [maxCollections]atomic.Pointer[collection]
	names atomic.Pointer[map[string]*collection] // without the dropped ones; replaced as a whole

	// before is the collection of a slot that was dropped last: the recording may
	// still ask for its name.
	before [maxCollections]atomic.Pointer[formerly]

	// mu serialises create, drop and swap, which may wait for the disk: workers never
	// wait for it.
	mu      sync.Mutex
	next    [maxCollections]uint32 // how many collections a slot has had
	closed  bool
	closing sync.WaitGroup // freeing the memory of dropped collections
}

// formerly is the name that a number had.
type formerly struct {
	num  uint32
	name string
}

// maxCollections bounds the collections of a server.
const maxCollections = 1 << 10

// Sixteen hosts fill the table.
var _ [maxCollections]struct{} = [16 * model.DefaultClientCollections]struct{}{}

// slotBits of a collection's number are its slot.
const slotBits = 10

// The slots have a bit pattern each.
var _ [maxCollections]struct{} = [1 << slotBits]struct{}{}

// all lists the collections that clients can reach, in the order of slots.
func (cs *collections) all() []*collection {
	var l []*collection
	for i := range cs.slots {
		if c := cs.slots[i].Load(); c != nil && !c.dropped.Load() {
			l = append(l, c)
		}
	}
	return l
}

func (cs *collections) byNumber(n uint32) (*collection, error) {
	c := cs.slots[n%maxCollections].Load()
	if c == nil || c.num != n || c.dropped.Load() {
		return nil, fmt.Errorf("%w: number %d", model.ErrUnknownCollection, n)
	}
	return c, nil
}

func (cs *collections) byName(name string) (*collection, error) {
	if all := cs.names.Load(); all != nil && (*all)[name] != nil {
		return (*all)[name], nil
	}
	return nil, fmt.Errorf("%w: %q", model.ErrUnknownCollection, name)
}

// rename replaces the map of names. cs.mu is held.
func (cs *collections) rename(f func(names map[string]*collection)) {
	names := map[string]*collection{}
	if all := cs.names.Load(); all != nil {
		maps.Copy(names, *all)
	}
	f(names)
	cs.names.Store(&names)
}

// nameOf is for the recording, which may ask after a drop.
func (cs *collections) nameOf(n uint32) string {
	slot := n % maxCollections
	if c := cs.slots[slot].Load(); c != nil && c.num == n {
		return c.name
	}
	if b := cs.before[slot].Load(); b != nil && b.num == n {
		return b.name
	}
	return "dropped"
}

// newCollection says what a collection holds: records, features, or boxes if neither
// is set.
type newCollection struct {
	records  *model.RecordsOptions
	features *store.CollectionOptions
	keep     bool // boxes that are kept
}

func (n newCollection) kind() string {
	if n.features != nil {
		return model.KindFeatures
	}
	return wire.KindOf(n.records != nil)
}

// create makes a collection, unless there is one of that name. account is of the
// client that requests it; nil: the server's owner does.
func (cs *collections) create(name string, s *Server, what newCollection, account *limits.Account) (*collection, error) {
	if c, err := cs.byName(name); err == nil {
		account.Close()
		return c, c.fits(what)
	}
	err := wire.CheckName(name)
	if err == nil && account != nil {
		err = s.features.notYet() // The store may be loading one of that name.
	}
	if err != nil {
		account.Close()
		return nil, err
	}
	if what.features != nil || what.keep {
		return s.features.create(name, what, account)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c, err := cs.byName(name); err == nil { // It was created meanwhile.
		account.Close()
		return c, c.fits(what)
	}
	c, err := cs.make(name, s, what, account)
	if err != nil {
		account.Close()
		return nil, err
	}
	cs.publish(c)
	return c, nil
}

// fits returns an error unless the collection is as what says.
func (c *collection) fits(what newCollection) error {
	err := c.isOf(what.kind())
	switch {
	case err != nil:
	case what.keep && c.boxes == nil:
		err = fmt.Errorf("%w: %q is in memory alone", store.ErrCollectionExists, c.name)
	case what.records != nil:
		err = c.hasOptions(what.records)
	case what.features != nil:
		err = c.features.Options().CheckSame(c.name, *what.features)
	}
	return err
}

func (cs *collections) publish(c *collection) {
	for _, part := range c.parts() {
		cs.next[part.num%maxCollections]++
		cs.slots[part.num%maxCollections].Store(part)
	}
	cs.rename(func(names map[string]*collection) { names[c.name] = c })
}

// adopt adds a collection that the store has kept.
func (cs *collections) adopt(c *collection) (*collection, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch other, err := cs.byName(c.name); {
	case err == nil && other.kind() == c.kind():
		return nil, fmt.Errorf("%w: collection %q is kept in the data directory, and to be in memory alone: keep it (Options.Keep, serve --keep), or name another",
			store.ErrCollectionExists, c.name)
	case err == nil:
		return nil, fmt.Errorf("%w: collection %q is one of %s, and the store has one of %s", model.ErrKind, c.name, other.kind(), c.kind())
	}
	nums, err := cs.numbers(1)
	if err == nil {
		c.num = nums[0]
		cs.publish(c)
	}
	return c, err
}

// numbers returns those of the first n free slots.
func (cs *collections) numbers(n int) (nums []uint32, err error) {
	for slot := 0; slot < maxCollections && len(nums) < n; slot++ {
		if cs.slots[slot].Load() == nil && cs.next[slot] < 1<<(32-slotBits) {
			nums = append(nums, cs.next[slot]<<slotBits|uint32(slot))
		}
	}
	if len(nums) < n {
		return nil, fmt.Errorf("%w: it can have %d collections, shards included, and has no room for %d more", model.ErrBusy, maxCollections, n)
	}
	return nums, nil
}

// room counts slots for a client, and returns the numbers of the first free ones.
func (cs *collections) room(n int, account *limits.Account) (nums []uint32, err error) {
	if cs.closed {
		return nil, model.ErrClosed
	}
	if err := account.Take(int64(n)); err != nil {
		return nil, err
	}
	return cs.numbers(n)
}

// make makes a collection that is not the store's in the first free slots.
func (cs *collections) make(name string, s *Server, what newCollection, account *limits.Account) (*collection, error) {
	nums, err := cs.room(what.slots(), account)
	if err != nil {
		return nil, err
	}
	c := withMemory()
	c.num, c.name, c.account = nums[0], name, account
	c.loading.Store(slices.Contains(s.opts.Loading, name))
	fill := c.makeTree
	if what.records != nil {
		fill = func(s *Server) error { return c.makeShards(s, what.records, nums) }
	}
	if err := fill(s); err != nil {
		for _, part := range c.parts() {
			part.close()
		}
		return nil, err
	}
	return c, nil
}

// withMemory returns a collection whose memory is not made yet.
func withMemory() *collection {
	return &collection{slab: new(slabMemory), index: new(slabMemory), heap: new(slabMemory)}
}

func (c *collection) makeTree(s *Server) error {
	opts := rstar.Options{NodeBytes: s.opts.NodeBytes, SlabBytes: s.opts.SlabBytes, BootID: s.bootID, Strategy: s.opts.Strategy}
	if err := c.slab.make(s.fabrics, c.name, opts.SlabBytes, s.opts.hooks.FirstPinned); err != nil {
		return err
	}
	opts.Memory, opts.Grow = c.slab.mem, c.slab.grower()
	var err error
	c.tree, err = rstar.New(opts)
	return err
}

// shut refuses further collections, and further drops.
func (cs *collections) shut() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
}

// shut ends reads and writes by this process, and waits for in-flight ones.
func (c *collection) shut() {
	if c.features != nil || c.boxes != nil {
		return // The store closes it.
	}
	if c.tree != nil {
		c.tree.Close()
	}
	if c.records != nil {
		c.records.Close()
	}
}

// close frees the memory.
func (c *collection) close() {
	if c.features != nil || c.boxes != nil {
		return // The store has freed it.
	}
	c.shut()
	c.slab.close()
	c.index.close()
}

// objects returns the number of objects.
func (c *collection) objects() int {
	if c.records != nil {
		return c.records.Len()
	}
	return c.tree.Len()
}
