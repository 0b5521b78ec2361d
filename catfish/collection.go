package catfish

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rdma/budget"
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
	slab     slabMemory      // of the tree, or of the records
	index    slabMemory      // of the records' keys
	heap     slabMemory      // of the features' records
	account  *budget.Account // of who created it; nil: the server's owner
	// kept: it was there when the store was opened, and the server's owner does
	// not name it. Clients may drop it, as they might when it was created.
	kept bool

	loading atomic.Bool // clients cannot open it yet
	// dropped is set before the tree is closed. A search that ran meanwhile
	// may have found nothing for that reason: look at it afterwards.
	dropped atomic.Bool
}

// collections is a table of fixed size. Workers look up numbers without a lock;
// names are resolved once per connection.
//
// The low bits of a number are the slot, the others count the collections that
// had it. So no number is used twice, and a client that knows that of a dropped
// collection never reaches another one.
type collections struct {
	slots [maxCollections]atomic.Pointer[collection]
	names sync.Map // string -> *collection; not the dropped ones

	mu     sync.Mutex             // serialises create and drop
	next   [maxCollections]uint32 // how many collections a slot has had
	before [maxCollections]struct {
		num  uint32
		name string
	} // that was dropped last: the recording may still ask for its name
	closed  bool
	closing sync.WaitGroup // memory of dropped collections on its way back
}

const (
	// maxCollections bounds the collections of a server.
	maxCollections = 1 << slotBits
	slotBits       = 10
)

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
		return nil, fmt.Errorf("%w: number %d", ErrUnknownCollection, n)
	}
	return c, nil
}

func (cs *collections) byName(name string) (*collection, error) {
	if c, ok := cs.names.Load(name); ok {
		return c.(*collection), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
}

// nameOf is for the recording, which may be late.
func (cs *collections) nameOf(n uint32) string {
	slot := n % maxCollections
	if c := cs.slots[slot].Load(); c != nil && c.num == n {
		return c.name
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if b := cs.before[slot]; b.num == n {
		return b.name
	}
	return "dropped"
}

// newCollection says what a collection is to have: records, features, or with
// neither boxes.
type newCollection struct {
	records  *RecordsOptions
	features *store.CollectionOptions
}

func (n newCollection) kind() string {
	if n.features != nil {
		return KindFeatures
	}
	return kindOf(n.records != nil)
}

// create makes a collection, unless there is one of that name. account is of the
// client that wants it; nil: the server's owner does.
func (cs *collections) create(name string, s *Server, what newCollection, account *budget.Account) (*collection, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c, err := cs.byName(name); err == nil {
		account.Close()
		if err := c.isOf(what.kind()); err != nil || what.features == nil {
			return c, err
		}
		if is := c.features.Options(); is != *what.features {
			return c, fmt.Errorf("%w: %q is %v", store.ErrCollectionExists, name, is.Space)
		}
		return c, nil
	}
	c, err := cs.make(name, s, what, account)
	if err != nil {
		account.Close()
		return nil, err
	}
	cs.publish(c)
	return c, nil
}

func (cs *collections) publish(c *collection) {
	cs.next[c.num%maxCollections]++
	cs.slots[c.num%maxCollections].Store(c)
	cs.names.Store(c.name, c)
}

// adopt adds a collection of features that the store has kept.
func (cs *collections) adopt(c *collection) (*collection, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if other, err := cs.byName(c.name); err == nil {
		return nil, fmt.Errorf("%w: collection %q is one of %s, and the store has one of features", ErrKind, c.name, other.kind())
	}
	var err error
	if c.num, err = cs.number(); err == nil {
		cs.publish(c)
	}
	return c, err
}

// number is that of the first free slot.
func (cs *collections) number() (uint32, error) {
	slot := 0
	for slot < maxCollections && (cs.slots[slot].Load() != nil || cs.next[slot] >= 1<<(32-slotBits)) {
		slot++
	}
	if slot == maxCollections {
		return 0, fmt.Errorf("%w: it has %d collections and can have no more", ErrBusy, maxCollections)
	}
	return cs.next[slot]<<slotBits | uint32(slot), nil
}

// make makes a collection in the first free slot.
func (cs *collections) make(name string, s *Server, what newCollection, account *budget.Account) (*collection, error) {
	if cs.closed {
		return nil, ErrClosed
	}
	if err := account.Take(1); err != nil {
		return nil, err
	}
	num, err := cs.number()
	if err != nil {
		return nil, err
	}
	if what.features != nil {
		c, err := s.features.make(name, what.features)
		if err == nil {
			c.num, c.account = num, account
		}
		return c, err
	}
	c := &collection{num: num, name: name, account: account}
	c.loading.Store(slices.Contains(s.opts.Loading, name))
	fill := c.makeTree
	if what.records != nil {
		fill = func(s *Server) error { return c.makeRecords(s, what.records) }
	}
	if err := fill(s); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *collection) makeTree(s *Server) error {
	opts := rstar.Options{NodeBytes: s.opts.NodeBytes, SlabBytes: s.opts.SlabBytes, BootID: s.bootID, Strategy: s.opts.Strategy}
	if err := c.slab.make(s.fabrics, c.name, opts.SlabBytes, s.opts.firstPinned); err != nil {
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

// shut ends reads and writes by this process, and waits for those under way.
func (c *collection) shut() {
	if c.features != nil {
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
	if c.features != nil {
		return // The store has freed it.
	}
	c.shut()
	c.slab.close()
	c.index.close()
}

// objects is how many there are.
func (c *collection) objects() int {
	if c.records != nil {
		return c.records.Len()
	}
	return c.tree.Len()
}
