package btree

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/internal/lines"
)

// Errors of a Tree.
var (
	// ErrFull: the slab has no room for a split. The tree is unchanged.
	ErrFull = errors.New("btree: the slab is full")
	// ErrSlab is wrapped by New about memory that cannot hold a tree.
	ErrSlab = errors.New("btree: bad slab")
)

// SlabBytes is memory for keys that were inserted in any order, and some more: half-full
// leaves, and as much again for a small tree.
func SlabBytes(keys int) int { return NodeBytes * (2*keys/(MaxEntries/2) + 64) }

// Tree is the owner's side: one writer at a time, any number of readers.
type Tree struct {
	mu      sync.Mutex // of writers
	mem     []byte
	chunks  uint32
	used    uint32
	len     int
	scratch [NodeBytes]byte
	// onStore is called after each store of a word, for tests.
	onStore func()
}

// New makes an empty tree in zeroed memory, which is aligned to lines.
func New(mem []byte) (*Tree, error) {
	n := len(mem) / NodeBytes
	if n <= rootChunk || n > math.MaxUint32 {
		return nil, fmt.Errorf("%w: %d nodes of %d bytes, want %d to %d", ErrSlab, n, NodeBytes, rootChunk+1, uint32(math.MaxUint32))
	}
	t := &Tree{mem: mem, chunks: uint32(n), used: rootChunk + 1}
	t.publish(&node{chunk: rootChunk, last: maxKey})
	return t, nil
}

// Chunks is the size of the slab in nodes.
func (t *Tree) Chunks() uint32 { return t.chunks }

// Len is the number of keys.
func (t *Tree) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.len
}

func (t *Tree) at(chunk uint32) []byte { return t.mem[int(chunk)*NodeBytes:][:NodeBytes] }

// publish makes n the content of its chunk (rstar/publish.go): odd versions first, then the
// words that differ, then even versions, the header's last.
func (t *Tree) publish(n *node) {
	src, dst := t.scratch[:], t.at(n.chunk)
	n.format(src)
	odd := word(dst, 0) + 1
	for at := 0; at < NodeBytes; at += lines.Bytes {
		t.store(dst, at, odd)
	}
	for at := 0; at < NodeBytes; at += 8 {
		if w := word(src, at); at%lines.Bytes != 0 && w != word(dst, at) {
			t.store(dst, at, w)
		}
	}
	for at := NodeBytes - lines.Bytes; at >= 0; at -= lines.Bytes {
		t.store(dst, at, odd+1)
	}
}

func (t *Tree) store(dst []byte, at int, w uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w)
	lines.Store(dst[at:at+8], b[:])
	if t.onStore != nil {
		t.onStore()
	}
}

// path is the way from the root to a leaf, as the writer reads it.
func (t *Tree) path(key uint64) (p []*node, err error) {
	for chunk, level := uint32(rootChunk), -1; ; {
		n := &node{}
		if err := n.parse(t.at(chunk), chunk, level, t.chunks); err != nil {
			return nil, err
		}
		if p = append(p, n); n.level == 0 {
			return p, nil
		}
		chunk, level = uint32(n.entries[n.child(key)].Value), n.level-1
	}
}

// Put sets the value of a key.
func (t *Tree) Put(key, value uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.path(key)
	if err != nil {
		return err
	}
	leaf := p[len(p)-1]
	if i := leaf.find(key); i < leaf.count && leaf.entries[i].Key == key {
		leaf.entries[i].Value = value
		t.publish(leaf)
		return nil
	}
	// A split of each node of the path, and the second new node of the root.
	if leaf.count == MaxEntries && int(t.chunks-t.used) < len(p)+1 {
		return fmt.Errorf("%w: %d of %d nodes are used", ErrFull, t.used, t.chunks)
	}
	t.insert(p, Item{key, value})
	t.len++
	return nil
}

// insert adds an entry to the last node of a path, which it splits if it is full.
func (t *Tree) insert(p []*node, e Item) {
	n := p[len(p)-1]
	i := n.find(e.Key)
	copy(n.entries[i+1:n.count+1], n.entries[i:n.count])
	n.entries[i] = e
	if n.count++; n.count <= MaxEntries {
		t.publish(n)
		return
	}
	if n.chunk == rootChunk {
		t.splitRoot(n)
		return
	}
	r := n.half(t.alloc())
	t.publish(r)
	t.publish(n)
	t.insert(p[:len(p)-1], Item{r.low, uint64(r.chunk)})
}

// half moves the upper half of n to a new node at its right.
func (n *node) half(chunk uint32) *node {
	m := n.count / 2
	r := &node{chunk: chunk, right: n.right, level: n.level, count: n.count - m, low: n.entries[m].Key, last: n.last}
	copy(r.entries[:], n.entries[m:n.count])
	n.count, n.last, n.right = m, r.low-1, chunk
	return r
}

func (t *Tree) splitRoot(n *node) {
	l := *n
	l.chunk = t.alloc()
	r := l.half(t.alloc())
	t.publish(r)
	t.publish(&l)
	root := &node{chunk: rootChunk, level: n.level + 1, count: 2, last: maxKey}
	root.entries[0], root.entries[1] = Item{l.low, uint64(l.chunk)}, Item{r.low, uint64(r.chunk)}
	t.publish(root)
}

func (t *Tree) alloc() uint32 {
	t.used++
	return t.used - 1
}

// Delete takes a key out. It reports whether the key existed.
func (t *Tree) Delete(key uint64) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, err := t.path(key)
	if err != nil {
		return false, err
	}
	leaf := p[len(p)-1]
	i := leaf.find(key)
	if i == leaf.count || leaf.entries[i].Key != key {
		return false, nil
	}
	copy(leaf.entries[i:], leaf.entries[i+1:leaf.count])
	leaf.count--
	t.publish(leaf)
	t.len--
	return true, nil
}

// Scan appends to dst the items with keys from from to to, both included, in the order of
// keys, as a reader of this process without locks: the reference for Walk.
func (t *Tree) Scan(from, to uint64, dst []Item) ([]Item, error) {
	if from > to {
		return dst, nil
	}
	var n node
	var b [NodeBytes]byte
	begin := len(dst)
	for todo := []task{all(from, to)}; len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		lines.Copy(b[:], t.at(next.chunk))
		err := n.parse(b[:], next.chunk, int(next.level), t.chunks)
		if errors.Is(err, ErrTorn) {
			todo = append(todo, next)
			runtime.Gosched() // The writer may need this processor.
			continue
		}
		if err == nil {
			todo, dst, err = n.follow(next, todo, dst)
		}
		if err != nil {
			return dst[:begin], err
		}
	}
	inOrder(dst[begin:])
	return dst, nil
}

// inOrder sorts the answers of tasks, which came in any order.
func inOrder(items []Item) {
	byKey := func(a, b Item) int { return cmp.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(items, byKey) {
		slices.SortFunc(items, byKey)
	}
}
