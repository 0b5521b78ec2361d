package btree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/lines"
)

// A node, little-endian, words of 8 bytes. Each line of 64 bytes begins with the node's
// version, which is odd while the node is written.
//
//	line 0    version | level u16, count u16, chunk u32 | right | low | last | 0 | 0 | 0
//	line 1    version | key 0 | value 0 | key 1 | value 1 | key 2 | value 2 | key 3
//	line 2    version | value 3 | key 4 | ...
//
// The node covers the keys from low to last. Right is the chunk of the node that covers
// those after last, 0 if last is the largest key. Keys ascend. In an inner node, a value is
// the chunk of a child, which covers the keys from its key to the next entry's, and the
// first key is low. Chunk 0 is not used, chunk 1 is the root.
const (
	// NodeBytes is the size of a node: 16 lines.
	NodeBytes = 1024
	// MaxEntries is the capacity of a node.
	MaxEntries = (NodeBytes/lines.Bytes - 1) * (lanes - 1) / 2

	lanes     = lines.Bytes / 8
	rootChunk = 1
	maxLevel  = 15 // half-full nodes of 2^32 chunks are fewer levels
	offMeta   = 8
	offRight  = 16
	offLow    = 24
	offLast   = 32
	maxKey    = math.MaxUint64
)

// Errors about the bytes of a node.
var (
	// ErrTorn: the node was being written. Read it again.
	ErrTorn = errors.New("btree: a node was being written")
	// ErrCorrupt: no writer writes such bytes.
	ErrCorrupt = errors.New("btree: impossible node")
)

// Item is a key with its value; in an inner node with a child's chunk.
type Item struct{ Key, Value uint64 }

// node is the content of a node. Its array has room for one entry too many.
type node struct {
	chunk, right uint32
	level, count int
	low, last    uint64
	entries      [MaxEntries + 1]Item
}

// wordAt is the offset of word w of the entries.
func wordAt(w int) int { return lines.Bytes*(1+w/(lanes-1)) + 8*(1+w%(lanes-1)) }

func word(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// parse reads a private copy of the node at a chunk, each line of which was read whole.
// level is what its parent says, -1: any; chunks is the size of the slab. Any bytes are
// safe.
func (n *node) parse(b []byte, chunk uint32, level int, chunks uint32) error {
	if len(b) != NodeBytes {
		return fmt.Errorf("%w: chunk %d has %d bytes, want %d", ErrCorrupt, chunk, len(b), NodeBytes)
	}
	version := word(b, 0)
	torn := version & 1
	for at := lines.Bytes; at < NodeBytes; at += lines.Bytes {
		torn |= word(b, at) ^ version
	}
	if torn != 0 {
		return ErrTorn
	}
	meta, right := word(b, offMeta), word(b, offRight)
	n.level, n.count, n.chunk = int(meta&0xFFFF), int(meta>>16&0xFFFF), uint32(meta>>32)
	n.right, n.low, n.last = uint32(right), word(b, offLow), word(b, offLast)
	switch {
	case n.chunk != chunk:
		return fmt.Errorf("%w: chunk %d says that it is %d", ErrCorrupt, chunk, n.chunk)
	case n.level > maxLevel, level >= 0 && n.level != level:
		return fmt.Errorf("%w: chunk %d is of level %d, want %d, at most %d", ErrCorrupt, chunk, n.level, level, maxLevel)
	case n.count > MaxEntries:
		return fmt.Errorf("%w: chunk %d has %d entries, want %d at most", ErrCorrupt, chunk, n.count, MaxEntries)
	case right >= uint64(chunks), (right == 0) != (n.last == maxKey):
		return fmt.Errorf("%w: chunk %d covers keys to %d, then comes chunk %d of %d", ErrCorrupt, chunk, n.last, right, chunks)
	case n.low > n.last:
		return fmt.Errorf("%w: chunk %d covers keys from %d to %d", ErrCorrupt, chunk, n.low, n.last)
	}
	return n.parseEntries(b, chunks)
}

func (n *node) parseEntries(b []byte, chunks uint32) error {
	for i := range n.count {
		e := Item{word(b, wordAt(2*i)), word(b, wordAt(2*i+1))}
		n.entries[i] = e
		switch {
		case e.Key < n.low, e.Key > n.last, i > 0 && e.Key <= n.entries[i-1].Key:
			return fmt.Errorf("%w: chunk %d has key %d at place %d, and covers %d to %d", ErrCorrupt, n.chunk, e.Key, i, n.low, n.last)
		case n.level > 0 && (e.Value <= rootChunk || e.Value >= uint64(chunks)):
			return fmt.Errorf("%w: chunk %d has the child %d, want %d to %d", ErrCorrupt, n.chunk, e.Value, rootChunk+1, chunks-1)
		}
	}
	if n.level > 0 && (n.count == 0 || n.entries[0].Key != n.low) {
		return fmt.Errorf("%w: chunk %d has no child for its first key, %d", ErrCorrupt, n.chunk, n.low)
	}
	return nil
}

// format writes the node to b, but for the versions.
func (n *node) format(b []byte) {
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	clear(b)
	put(offMeta, uint64(n.level)|uint64(n.count)<<16|uint64(n.chunk)<<32)
	put(offRight, uint64(n.right))
	put(offLow, n.low)
	put(offLast, n.last)
	for i, e := range n.entries[:n.count] {
		put(wordAt(2*i), e.Key)
		put(wordAt(2*i+1), e.Value)
	}
}

// find is the place of the first entry with a key of at least k.
func (n *node) find(k uint64) int {
	lo, hi := 0, n.count
	for lo < hi {
		if m := int(uint(lo+hi) / 2); n.entries[m].Key < k {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// child is the place of the child that covers k, which the node covers.
func (n *node) child(k uint64) int {
	i := n.find(k)
	if i < n.count && n.entries[i].Key == k {
		return i
	}
	return i - 1
}
