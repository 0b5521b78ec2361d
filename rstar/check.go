package rstar

import (
	"fmt"
	"math"
)

// Invariants. Check verifies each of them while no writer runs:
//
//	geometry   magic, layout version, node size, capacity as in Options
//	versions   even, and the same in all lines of a node
//	stamps     none greater than the move counter
//	identity   every node knows its chunk and its level
//	fill       minFill..fanout entries; a root that is no leaf at least 2
//	unused     children from the count on are empty boxes, references 0;
//	           objects are zeros
//	tight      a parent's box is the MBR of the child's entries, exactly,
//	           rounded outwards once (frame.go)
//	valid      an object's rectangle passes Rect.Validate
//	ids        id bounds contain those of the children, or the objects
//	reach      no chunk is reached twice; reached, free and header chunks
//	           are all that were ever used
//	counts     objects, height and nodes per level are as counted

// checker is one run of Check.
type checker struct {
	t       *Tree
	seen    []bool
	objects uint64
	nodes   [maxHeight]int64
}

// Check verifies the whole tree and returns an error that wraps ErrCheck
// and names the chunk and the reason, or nil. It reads every node and holds
// the writer's lock for all of that: writes wait, searches do not. It takes
// some 20 ns for each object, 0.1 s for 5 million, and a byte for each node.
func (t *Tree) Check() error {
	if err := t.lock(); err != nil {
		return err
	}
	defer t.mu.Unlock()
	c := checker{t: t, seen: make([]bool, t.tx.committed.used)}
	return c.run()
}

func bad(chunk uint32, format string, args ...any) error {
	return fmt.Errorf("%w: chunk %d: %s", ErrCheck, chunk, fmt.Sprintf(format, args...))
}

func (c *checker) run() error {
	t, x := c.t, &c.t.tx
	h, err := ParseHeader(t.mem[:HeaderBytes])
	if err != nil {
		return bad(0, "%v", err)
	}
	want := Header{
		LayoutVersion: LayoutVersion, NodeBytes: t.opts.NodeBytes,
		Chunks: t.chunks, BootID: t.opts.BootID,
		Root: x.committed.root, Height: x.committed.height,
		Len: x.committed.count, Moves: t.moves.Load(), Used: x.committed.used,
	}
	if h != want {
		return bad(0, "header is %+v, want %+v", h, want)
	}
	c.seen[0] = true
	if _, err := c.node(h.Root, h.Height-1, true); err != nil {
		return err
	}
	if c.objects != h.Len {
		return bad(0, "header counts %d objects, the leaves hold %d", h.Len, c.objects)
	}
	if c.nodes != x.committed.nodes {
		return bad(0, "nodes per level are %v, counted as %v", c.nodes, x.committed.nodes)
	}
	return c.free()
}

// free checks the chunks that are not in the tree.
func (c *checker) free() error {
	for _, chunk := range c.t.tx.freeChunks {
		if uint64(chunk) >= uint64(len(c.seen)) {
			return bad(chunk, "free, but was never used")
		}
		if c.seen[chunk] {
			return bad(chunk, "free, but reached before")
		}
		c.seen[chunk] = true
		n := c.t.at(chunk)
		if err := c.lines(n, chunk); err != nil {
			return err
		}
		if n.level() != freeLevel || n.chunk() != chunk || n.count() != 0 {
			return bad(chunk, "free, but says level %d, %d entries, chunk %d",
				n.level(), n.count(), n.chunk())
		}
	}
	for chunk, seen := range c.seen {
		if !seen {
			return bad(uint32(chunk), "lost: neither reached nor free")
		}
	}
	return nil
}

// lines checks versions and stamp.
func (c *checker) lines(n node, chunk uint32) error {
	if n[0]&1 != 0 {
		return bad(chunk, "version %d is odd", n[0])
	}
	for l := lanes; l < len(n); l += lanes {
		if n[l] != n[0] {
			return bad(chunk, "line %d has version %d, the header line %d",
				l/lanes, n[l], n[0])
		}
	}
	if m := c.t.moves.Load(); n[laneStamp] > m {
		return bad(chunk, "stamp %d exceeds the move counter %d", n[laneStamp], m)
	}
	return nil
}

// node checks a subtree and returns its MBR.
func (c *checker) node(chunk uint32, level int, root bool) (Rect, error) {
	if chunk == 0 || uint64(chunk) >= uint64(len(c.seen)) {
		return Rect{}, bad(chunk, "reached at level %d, but only 1 to %d are in use",
			level, len(c.seen)-1)
	}
	if c.seen[chunk] {
		return Rect{}, bad(chunk, "reached twice")
	}
	c.seen[chunk] = true
	n := c.t.at(chunk)
	if err := c.lines(n, chunk); err != nil {
		return Rect{}, err
	}
	if n.level() != level || n.chunk() != chunk {
		return Rect{}, bad(chunk, "says level %d, chunk %d, want level %d",
			n.level(), n.chunk(), level)
	}
	least := c.t.least(level)
	if root {
		least = min(level, 1) * 2
	}
	if k, most := n.count(), c.t.fan(level); k < least || k > most {
		return Rect{}, bad(chunk, "fill: %d entries, want %d to %d", k, least, most)
	}
	for i := n.count(); i < n.room(); i++ {
		if n.inner() && n.box(i) != emptyBox32 || !n.inner() && n.halves(i) != (halves{}) || n.ref(i) != 0 {
			return Rect{}, bad(chunk, "unused entry %d is not empty", i)
		}
	}
	if s := n[laneFrameScale]; !n.inner() && !validShifts(s) {
		return Rect{}, bad(chunk, "frame has shifts %#x, none above %d", s, maxShift)
	}
	if f := n.frame(); n.inner() && !f.valid() {
		return Rect{}, bad(chunk, "frame is %v", f)
	}
	c.nodes[level]++
	return c.entries(n, chunk, level)
}

// entries checks the entries of a node and returns their MBR.
func (c *checker) entries(n node, chunk uint32, level int) (Rect, error) {
	if level == 0 {
		c.objects += uint64(n.count())
	}
	lo, hi := uint64(math.MaxUint64), uint64(0)
	for i := 0; i < n.count(); i++ {
		id := n.ref(i)
		if level == 0 {
			r := n.rect(i)
			if err := r.Validate(); err != nil {
				return Rect{}, bad(chunk, "entry %d: %v", i, err)
			}
			lo, hi = min(lo, id), max(hi, id)
			continue
		}
		child, err := c.node(uint32(id), level-1, false)
		if err != nil {
			return Rect{}, err
		}
		if b, ok := n.frame().encode(child); !ok || b != n.box(i) {
			return Rect{}, bad(chunk, "box %v of entry %d is not tight: chunk %d has MBR %v",
				n.rect(i), i, id, child)
		}
		cn := c.t.at(uint32(id))
		lo, hi = min(lo, cn.minID()), max(hi, cn.maxID())
	}
	if n.count() > 0 && !n.covers(lo, hi) {
		return Rect{}, bad(chunk, "id bounds %d..%d do not contain %d..%d",
			n.minID(), n.maxID(), lo, hi)
	}
	return n.mbr(), nil
}
