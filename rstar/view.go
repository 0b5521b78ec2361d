package rstar

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"unsafe"
)

// Header is the content of chunk 0.
type Header struct {
	LayoutVersion uint32
	NodeBytes     int
	// Chunks is the capacity of the slab: every chunk number of the tree
	// is in [1, Chunks). It never changes.
	Chunks uint64
	BootID uint64
	Root   uint32 // chunk of the root, which is at level Height-1
	Height int    // number of levels, at least 1
	Len    uint64 // objects; counted apart from root and Moves
	Moves  uint64 // the move counter M (publish.go)
	// Used is the number of chunks that the tree has used so far: every chunk number of
	// the tree is less, and all chunks are in the first Used*NodeBytes bytes.
	Used uint64
}

// ParseHeader reads a private copy of the first HeaderBytes of a slab,
// each line of which was read atomically. Any bytes are safe. The error
// wraps ErrTorn (read again), ErrLayout (no tree, or one of another
// layout) or ErrCorrupt (impossible root or height).
func ParseHeader(b []byte) (Header, error) {
	var h Header
	if len(b) < HeaderBytes {
		return h, fmt.Errorf("%w: header has %d bytes, want %d",
			ErrLayout, len(b), HeaderBytes)
	}
	if m := word(b, laneMeta); m != magic {
		return h, fmt.Errorf("%w: magic is %#x, want %#x", ErrLayout, m, magic)
	}
	geometry := word(b, 2)
	h.LayoutVersion, h.NodeBytes = uint32(geometry), int(geometry>>32)
	if h.LayoutVersion != LayoutVersion {
		return Header{}, fmt.Errorf("%w: layout version is %d, want %d",
			ErrLayout, h.LayoutVersion, LayoutVersion)
	}
	if nodeGroups(h.NodeBytes) == 0 {
		return Header{}, fmt.Errorf("%w: node size is %d, want 64*(1+5k) for k in 2..12",
			ErrLayout, h.NodeBytes)
	}
	h.Chunks, h.BootID = word(b, 3), word(b, 4)
	if h.Chunks < minSlabChunks || h.Chunks > maxSlabChunks {
		return Header{}, fmt.Errorf("%w: %d chunks, want %d to %d",
			ErrLayout, h.Chunks, minSlabChunks, maxSlabChunks)
	}
	if v := word(b, headerDynamic); v&1 != 0 {
		return Header{}, fmt.Errorf("%w: header version %d is odd", ErrTorn, v)
	}
	rh := word(b, headerDynamic+1)
	h.Root, h.Height = uint32(rh), int(rh>>32)
	h.Len, h.Moves = word(b, headerCount), word(b, headerDynamic+3)
	h.Used = word(b, headerDynamic+4)
	if h.Root == 0 || uint64(h.Root) >= h.Chunks {
		return Header{}, fmt.Errorf("%w: root is chunk %d, want 1 to %d",
			ErrCorrupt, h.Root, h.Chunks-1)
	}
	if h.Height < 1 || h.Height > maxHeight {
		return Header{}, fmt.Errorf("%w: height is %d, want 1 to %d",
			ErrCorrupt, h.Height, maxHeight)
	}
	if h.Used > h.Chunks {
		return Header{}, fmt.Errorf("%w: it uses %d chunks, want %d at most", ErrCorrupt, h.Used, h.Chunks)
	}
	return h, nil
}

// Node is a view of a private copy of one node's bytes. It is a value;
// it is valid as long as the bytes stay unchanged.
type Node struct {
	b            []byte
	level, count int
}

// ViewNode checks b, a private copy of one node each line of which was read atomically,
// and returns a view of it. chunk and level come from the parent (or the header); moves
// is the M with which the search began. Any bytes are safe. The error wraps ErrTorn
// (read the node again), ErrMoved (begin the search again with a fresh header) or
// ErrCorrupt (impossible content). Child chunks come from the peer: the caller checks
// that a Ref of an internal node is in [1, Header.Chunks).
func ViewNode(b []byte, chunk uint32, level int, moves uint64) (Node, error) {
	k := nodeGroups(len(b))
	if k == 0 {
		return Node{}, fmt.Errorf("%w: node %d has %d bytes, want 64*(1+5k) for k in 2..12",
			ErrCorrupt, chunk, len(b))
	}
	l, count, err := checkNode(b, fanoutOf(len(b)/8, isInner(level)), chunk, level, moves)
	if err != nil {
		return Node{}, err
	}
	n := Node{b, l, count}
	if f := n.frame(); l > 0 && !f.valid() {
		return Node{}, fmt.Errorf("%w: chunk %d has the frame %+v, want a finite point and a scale 2^e, |e| at most %d",
			ErrCorrupt, chunk, f, maxFrameExp)
	}
	return n, nil
}

// checkNode checks the part of a node that was read: the header line and some lines
// after it, or all. most is the largest number of entries of such a node.
func checkNode(b []byte, most int, chunk uint32, level int, moves uint64) (l, count int, err error) {
	v := word(b, 0)
	differ := v & 1
	for l := lanes; l < len(b)/8; l += lanes {
		differ |= word(b, l) ^ v
	}
	if differ != 0 {
		return 0, 0, tornError{chunk, v}
	}
	if s := word(b, laneStamp); s > moves && mutant != laterStamps {
		return 0, 0, movedError{chunk, s, moves}
	}
	l, count, c := unpackMeta(word(b, laneMeta))
	if c != chunk || l != level {
		return 0, 0, fmt.Errorf("%w: chunk %d at level %d, want chunk %d at level %d",
			ErrCorrupt, c, l, chunk, level)
	}
	if level < 0 || level >= maxHeight {
		return 0, 0, fmt.Errorf("%w: chunk %d at level %d, want 0 to %d",
			ErrCorrupt, chunk, level, maxHeight-1)
	}
	if count > most {
		return 0, 0, fmt.Errorf("%w: chunk %d has %d entries, want at most %d",
			ErrCorrupt, chunk, count, most)
	}
	if s := word(b, laneFrameScale); l == 0 && !validShifts(s) {
		return 0, 0, fmt.Errorf("%w: chunk %d has shifts %#x, want none above %d",
			ErrCorrupt, chunk, s, maxShift)
	}
	return l, count, nil
}

// Clone returns n with a copy of its bytes, for caching.
func (n Node) Clone() Node {
	n.b = append(make([]byte, 0, len(n.b)), n.b...)
	return n
}

// Leaf reports whether the entries are objects.
func (n Node) Leaf() bool { return n.level == 0 }

// Level is 0 for a leaf.
func (n Node) Level() int { return n.level }

// Count is the number of entries.
func (n Node) Count() int { return n.count }

// Rect returns the rectangle of entry i, 0 <= i < Count(). A child's was
// rounded outwards; if the server's memory is corrupt, it may be anything.
func (n Node) Rect(i int) Rect {
	if isInner(n.level) {
		s := int(innerSlot[i])
		return n.frame().decode(box32{
			n.float32(s), n.float32(s + fieldMinY),
			n.float32(s + fieldMaxX), n.float32(s + fieldMaxY),
		})
	}
	f := n.leafFrame()
	t := int(lowSlot[i]) + n.groups()*lanes
	return f.decode(halves{word(n.b, int(highSlot[i])),
		[3]uint64{word(n.b, t), word(n.b, t+1), word(n.b, t+2)}})
}

// Ref returns the object id of entry i of a leaf, or the child's chunk
// number, 0 <= i < Count().
func (n Node) Ref(i int) uint64 {
	if isInner(n.level) {
		return uint64(binary.LittleEndian.Uint32(n.b[4*(int(innerSlot[i])+fieldRef):]))
	}
	return word(n.b, int(idSlot[i])+n.groups()*lanes)
}

// AppendHits appends to dst the indexes of the entries that intersect q,
// in ascending order.
func (n Node) AppendHits(dst []int32, q Rect) []int32 {
	first := unsafe.Pointer(unsafe.SliceData(n.b))
	if uintptr(first)%unsafe.Alignof(uint64(0)) != 0 || bigEndian {
		return n.appendSlowly(dst, q)
	}
	// SAFETY: ViewNode has checked that b is a whole node and that it
	// has room for count entries. Aligned, since atomic loads of other
	// words fault on some processors (arm64).
	var m masks
	if isInner(n.level) {
		m.scanInner((*uint64)(first), n.count, &q)
		for i, b := range m {
			for ; b != 0; b &= b - 1 {
				at := i*64 + bits.TrailingZeros64(b)
				dst = append(dst, int32(at/16*innerGroup+at%16-2))
			}
		}
		return dst
	}
	m.scanLeaf((*uint64)(first), n.count, &q)
	m.each(func(i, _ int) {
		if n.Rect(i).Intersects(q) {
			dst = append(dst, int32(i))
		}
	})
	return dst
}

// AppendItems appends to dst the objects of a leaf that intersect q; for an
// internal node it appends none. What dst holds beyond the result's length,
// within its capacity, may be overwritten.
func (n Node) AppendItems(dst []Item, q Rect) []Item {
	if isInner(n.level) {
		return dst
	}
	first := unsafe.Pointer(unsafe.SliceData(n.b))
	if uintptr(first)%unsafe.Alignof(uint64(0)) != 0 || bigEndian {
		for i := range n.count {
			if r := n.Rect(i); r.Intersects(q) {
				dst = append(dst, Item{r, n.Ref(i)})
			}
		}
		return dst
	}
	// SAFETY: as in AppendHits.
	var m masks
	m.scanLeaf((*uint64)(first), n.count, &q)
	return m.appendItems(dst, (*uint64)(first), n.groups(), &q)
}

func (n Node) groups() int { return (len(n.b)/8 - lanes) / groupWords }

func (n Node) frame() frame {
	return frame{n.float(laneFrameX), n.float(laneFrameY), n.float(laneFrameScale)}
}

func (n Node) leafFrame() leafFrame {
	return leafFrameOf(word(n.b, laneFrameX), word(n.b, laneFrameY), word(n.b, laneFrameScale))
}

// appendSlowly is AppendHits for bytes that cannot be loaded as words.
func (n Node) appendSlowly(dst []int32, q Rect) []int32 {
	for i := range n.count {
		if n.Rect(i).Intersects(q) {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// bigEndian: the reader's machine, unlike the slab's, may be big-endian.
var bigEndian = checkEndian() != nil

func (n Node) float(w int) float64 { return math.Float64frombits(word(n.b, w)) }

func (n Node) float32(i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(n.b[4*i:]))
}

// word returns the w-th word of b.
func word(b []byte, w int) uint64 { return binary.LittleEndian.Uint64(b[w*8:]) }

// tornError and movedError format their texts only on demand: readers meet
// them all the time and drop them.
type tornError struct {
	chunk   uint32
	version uint64
}

func (e tornError) Error() string {
	return fmt.Sprintf("%v: chunk %d, header line's version %d",
		ErrTorn, e.chunk, e.version)
}
func (e tornError) Unwrap() error { return ErrTorn }

type movedError struct {
	chunk        uint32
	stamp, moves uint64
}

func (e movedError) Error() string {
	return fmt.Sprintf("%v: chunk %d has stamp %d, the search began at %d",
		ErrMoved, e.chunk, e.stamp, e.moves)
}
func (e movedError) Unwrap() error { return ErrMoved }
