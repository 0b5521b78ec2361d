package offload

import (
	"sync"
	"sync/atomic"
)

// A Cache holds the entries that walks made of blocks, so that later
// walks need not read the blocks. It does not know whether a block has
// changed since: a walk that uses an entry validates it.
//
// It is a hash table of sets; a key may be in any place of its set:
//
//	set 0   | p | p | p | p | p | p | p | p |   p: atomic pointer to an
//	set 1   | p | p | p | p | p | p | p | p |   entry that never changes
//	...                                         but for its used bit
//
// Get takes no lock and writes only the used bit, and only if it is clear:
// many cores read the same entries. Put replaces the entry that CLOCK finds
// in the set: the first entry, from where the set's hand stopped, that was
// not used since the hand passed it (Corbató, "A Paging Experiment with the
// Multics System", 1968).
//
// All methods are safe for any number of goroutines.
type Cache[V any] struct {
	slots []atomic.Pointer[entry[V]] // ways of set 0, of set 1, ...

	mu    sync.Mutex // held to change slots, and for hands
	hands []uint8    // by set
}

// cacheWays is how many entries a set has. Filled to a half, of sets of
// eight 2 % overflow; of sets of four 14 % (Poisson).
const cacheWays = 8

type entry[V any] struct {
	key  uint64
	used atomic.Bool
	v    V
}

// NewCache makes a cache of at most limit bytes for entries that take cost
// bytes each; it has room for at least eight of them.
func NewCache[V any](limit int64, cost int) *Cache[V] {
	sets := max(limit/int64(cost)/cacheWays, 1)
	return &Cache[V]{
		slots: make([]atomic.Pointer[entry[V]], sets*cacheWays),
		hands: make([]uint8, sets),
	}
}

// Cap is the number of entries that fit.
func (c *Cache[V]) Cap() int { return len(c.slots) }

// set returns the number of the key's set.
func (c *Cache[V]) set(key uint64) int {
	// Knuth's multiplicative hash; its high half is spread over the sets.
	h := key * 0x9E3779B97F4A7C15 >> 32
	return int(h * uint64(len(c.hands)) >> 32)
}

func (c *Cache[V]) ways(set int) []atomic.Pointer[entry[V]] {
	return c.slots[set*cacheWays:][:cacheWays]
}

// Get returns the entry cached under the key, nil if there is none. Many callers
// may hold the same entry: they must not change it, except for atomic fields.
func (c *Cache[V]) Get(key uint64) *V {
	ways := c.ways(c.set(key))
	for i := range ways {
		if e := ways[i].Load(); e != nil && e.key == key {
			if !e.used.Load() {
				e.used.Store(true)
			}
			return &e.v
		}
	}
	return nil
}

// Put caches a V that fill has filled, in place of the entry that was
// cached under the key.
func (c *Cache[V]) Put(key uint64, fill func(*V)) {
	e := &entry[V]{key: key}
	fill(&e.v)
	set := c.set(key)
	ways := c.ways(set)
	c.mu.Lock()
	defer c.mu.Unlock()
	free := -1
	for i := range ways {
		old := ways[i].Load()
		if old == nil {
			free = i
		} else if old.key == key {
			ways[i].Store(e)
			return
		}
	}
	for free < 0 {
		i := int(c.hands[set])
		c.hands[set] = uint8((i + 1) % cacheWays)
		// Get may set the bit again at once, which saves the entry for
		// another round.
		if !ways[i].Load().used.Swap(false) {
			free = i
		}
	}
	ways[free].Store(e)
}

// Drop removes the entry cached under the key if it still is v.
func (c *Cache[V]) Drop(key uint64, v *V) {
	ways := c.ways(c.set(key))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ways {
		if e := ways[i].Load(); e != nil && &e.v == v {
			ways[i].Store(nil)
		}
	}
}

// Len counts the entries.
func (c *Cache[V]) Len() int {
	n := 0
	for i := range c.slots {
		if c.slots[i].Load() != nil {
			n++
		}
	}
	return n
}
