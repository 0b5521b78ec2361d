package rstar

import (
	"errors"
	"fmt"
	"github.com/catfish-index/catfish/internal/mapped"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Tree is an R*-tree in a slab. All methods are safe for concurrent use.
type Tree struct {
	opts      Options
	mem       []byte         // the slab; nil after Close, read under mu
	words     []uint64       // the slab's words, for the writer
	base      unsafe.Pointer // the slab for readers, between enter and exit
	nodeWords int
	nodeLines int
	groups    int    // of a node: layout.go's k
	fanout    [2]int // M of the paper: of a leaf, of an internal node, which may have room for more
	minFill   [2]int // m of the paper
	chunks    uint64 // capacity
	portable  bool   // publish by sync/atomic
	onPublish func() // tests look at the slab between two nodes; else nil

	// Tests record the stores of the portable path; else nil.
	onStore func(word *uint64, v uint64)

	mu sync.Mutex // the writer's lock; also a reader's last resort
	tx tx         // guarded by mu

	closed  atomic.Bool
	stripes [stripeCount]stripe
	turn    atomic.Uint32                   // deals stripes to searchers
	pool    sync.Pool                       // of *searcher
	shown   atomic.Pointer[func(Rect) bool] // show.go
	blocks  sync.Pool                       // of *block, see found.go

	// Written by the writer at commit, read by anyone.
	size   atomic.Int64
	moves  atomic.Uint64
	height atomic.Int32
	nodes  [maxHeight]atomic.Int64 // per level
}

// New returns an empty tree. The error wraps ErrBadOptions, ErrLayout on a
// big-endian machine, or comes from the system when it refuses the memory.
// The tree keeps its slab until Close.
func New(o Options) (*Tree, error) {
	if err := checkEndian(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	t := &Tree{
		opts:      o,
		mem:       o.Memory,
		nodeWords: o.NodeBytes / 8,
		nodeLines: o.NodeBytes / LineBytes,
		groups:    nodeGroups(o.NodeBytes),
		chunks:    uint64(o.SlabBytes / int64(o.NodeBytes)),
		portable:  o.PortableStores,
	}
	for i := range t.fanout {
		t.fanout[i] = fanoutOf(t.nodeWords, i > 0 && o.Strategy != OriginalDoubles)
		t.minFill[i] = t.fanout[i] * o.Strategy.minFillPercent() / 100
	}
	if t.mem == nil {
		t.mem, err = mapped.Map(int64(t.chunks) * int64(o.NodeBytes))
		if err != nil {
			return nil, fmt.Errorf("rstar: mapping a slab of %d bytes (SlabBytes): %w",
				o.SlabBytes, err)
		}
	}
	mapped.AdviseHuge(t.mem)
	// SAFETY: the slab is 64-byte aligned (withDefaults, mmap), at least
	// chunks*NodeBytes long, holds no pointers, and outlives every access:
	// Close waits for readers and takes the writer's lock.
	t.words = unsafe.Slice((*uint64)(unsafe.Pointer(&t.mem[0])),
		int(t.chunks)*t.nodeWords)
	t.base = unsafe.Pointer(&t.mem[0])
	t.pool.New = func() any { return t.newSearcher() }
	if err := t.tx.init(t); err != nil {
		if o.Memory == nil {
			err = errors.Join(err, mapped.Unmap(t.mem))
		}
		return nil, fmt.Errorf("rstar: %w", err)
	}
	return t, nil
}

// Close frees the slab, unless it is the caller's Memory. It waits for
// searches inside the tree (not for their yields). Afterwards writes return
// ErrClosed and searches find nothing. Closing twice is harmless.
func (t *Tree) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	for i := range t.stripes {
		for t.stripes[i].gate.Load()&gateActive != 0 {
			runtime.Gosched()
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	mem := t.mem
	t.mem, t.words = nil, nil
	t.size.Store(0)
	if t.opts.Memory != nil {
		return nil
	}
	return mapped.Unmap(mem)
}

// Closed reports whether Close was called. A reader of a tree that another goroutine
// may close checks it afterwards: searches after Close find nothing.
func (t *Tree) Closed() bool { return t.closed.Load() }

// lock takes the writer's lock unless the tree is closed.
func (t *Tree) lock() error {
	t.mu.Lock()
	if t.closed.Load() {
		t.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// Frozen calls f while no write is made; searches continue. f must not write. The error
// wraps ErrClosed; then f was not called.
func (t *Tree) Frozen(f func()) error {
	if err := t.lock(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	f()
	return nil
}

// tryLock is lock for callers that cannot wait long: other writers hold the lock for a
// microsecond, Load and Check for all of their work. It does not wait for these.
func (t *Tree) tryLock() error {
	for range lockSpins {
		if t.mu.TryLock() {
			if t.closed.Load() {
				t.mu.Unlock()
				return ErrClosed
			}
			return nil
		}
		runtime.Gosched()
	}
	return ErrLocked
}

// lockSpins are 10 us and more: ten writes of others.
const lockSpins = 100

// Len returns the number of objects, 0 after Close.
func (t *Tree) Len() int { return int(t.size.Load()) }

// NodeBytes returns the size of a node and a chunk.
func (t *Tree) NodeBytes() int { return t.opts.NodeBytes }

// BootID returns the id of this life of the tree, never 0.
func (t *Tree) BootID() uint64 { return t.opts.BootID }

// Memory returns the slab, for registering it with a network card. It must
// not be written, may be read in this process only according to the protocol
// of publish.go, and not at all after Close. It is nil after Close.
func (t *Tree) Memory() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mem
}

// fan returns the fan-out of nodes at a level and their minimum fill.
func (t *Tree) fan(level int) int   { return t.fanout[min(level, 1)] }
func (t *Tree) least(level int) int { return t.minFill[min(level, 1)] }

// at returns the slab's words of a chunk.
func (t *Tree) at(chunk uint32) node {
	o := int(chunk) * t.nodeWords
	return node(t.words[o : o+t.nodeWords : o+t.nodeWords])
}
