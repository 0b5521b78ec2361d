package catfish

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rstar"
)

// Offloaded walks through a tree's slab (DESIGN section 4, the reader's
// side). A walk reads the slab's header together with the root:
//
//	known header H (root, height, moves M) from the walk before
//	   |
//	   +-- read header ----> keep as the next walk's H; boot id checked
//	   +-- read root ------> rstar.ViewNode(chunk, level, M)
//	         +-- children that intersect, all at once, and so on
//
// M may be older than the tree: then a node that moved since carries a
// stamp above M, and the walk begins again. It may never be newer than
// what the walk's first read saw, and it is not: H was read before. No
// order between reads under way is assumed; in particular the header read
// in this walk is not used by it.
//
// After a restart the walk reads the header first, alone, and goes on
// with what it finds: the M known from before is what just failed.
//
// # With a cache
//
// Internal nodes that the client keeps are not read. The walk goes by the
// copies down to the leaves at once, and reads, with these, the first line
// of each node whose copy it used:
//
//	known H and copies of root, A, B
//	   |
//	   +-- read leaves below A and B, and nodes that are not kept
//	   +-- read first line of root, A, B --> rstar.Node.Validate
//	         unchanged: nothing more to do, one round trip
//	         changed:   read the node, go on to children not seen yet
//	         moved since M: begin again
//
// rstar/validate.go argues why that keeps section 4's promises. Which copy
// is used, and for how long it was kept, is all the same to it. The header
// is read by every eighth walk only: an M that is older makes a walk
// restart if it meets what moved since, which is rare.
//
// A third try goes without copies, so that whatever the cache holds, a walk
// makes the progress that it would make without one.

// slab is one collection's memory at the server, as a client knows it.
type slab struct {
	base   rdma.Remote
	bytes  uint64
	node   uint32
	bootID uint64
	known  atomic.Pointer[rstar.Header] // latest header read; nil at first
	cache  *nodeCache                   // nil: nothing is kept
	trust  uint64                       // ns for which a copy is not validated again, 0: always
}

// learn keeps h if it is newer than what is known.
func (s *slab) learn(h rstar.Header) {
	for {
		old := s.known.Load()
		if old != nil && old.Moves >= h.Moves {
			return
		}
		if s.known.CompareAndSwap(old, &h) {
			return
		}
	}
}

// Tags: a node's is level<<32 | chunk. Those of the other reads have a bit
// that no level has; the bits of manyMask are free.
const (
	lineTag   = 1 << 62 // | index in relied: the first line of a kept node
	repairTag = 1 << 61 // | index in relied: all of it
	headsTag  = 1 << 60 // | chunk: the first lines of a leaf
	headerTag = 1 << 59
	tagBits   = lineTag | repairTag | headsTag | headerTag
)

// headerEvery is how many walks of a lane with a cache go by for one that
// reads the header.
const headerEvery = 8

// errServerChanged: the slab is another server's; the session is over.
var errServerChanged = errors.New("catfish: server restarted")

// relied is a kept node that a walk went by.
type relied struct {
	*kept
	chunk uint32
	hop   uint16
}

// walk is what every traversal shares: the header protocol, the cache, and
// the bounds checks on what a server's memory says.
type walk struct {
	slab     *slab
	cache    *nodeCache   // to look into; nil: none
	h        rstar.Header // the header that this walk relies on
	first    uint16       // hop of the root
	ready    bool         // h is set, the root may be read
	asked    bool         // the header's read was handed out
	rooted   bool         // the root's was
	distrust bool         // something impossible was found by a copy's word
	refs     uint64       // nodes named so far
	now      uint64       // if copies are trusted: when the walk began
	relied   []relied
	lined    int // of relied, whose lines' reads were handed out
	used     int // kept nodes gone by
	repairs  int // of these, had changed
	turn     uint
}

// begin starts a walk, try 0, or starts it again after a restart.
func (w *walk) begin(s *slab, try int) {
	clear(w.relied)
	last := *w
	*w = walk{slab: s, relied: last.relied[:0], turn: last.turn + 1, first: 1}
	if h := s.known.Load(); h != nil && try == 0 {
		w.h, w.ready = *h, true
	} else {
		w.first = 2
	}
	w.distrust = try > 0 && last.distrust
	if s.cache == nil || try > 1 || w.distrust {
		return
	}
	w.cache = s.cache
	w.asked = w.ready && w.turn%headerEvery != 0
	if s.trust > 0 {
		w.now = sinceStart()
	}
}

// tell adds what the cache did.
func (w *walk) tell(st *offload.Stats) {
	st.Cached += uint64(w.used)
	st.Repairs += uint64(w.repairs)
}

// next hands out the header's read and then the root's.
func (w *walk) next() (offload.Ref, bool, error) {
	if !w.asked {
		w.asked = true
		return offload.Ref{Len: rstar.HeaderBytes, Hop: 1, Tag: headerTag}, true, nil
	}
	if w.ready && !w.rooted {
		w.rooted = true
		r, err := w.ref(uint64(w.h.Root), w.h.Height-1, w.first)
		return r, err == nil, err
	}
	return offload.Ref{}, false, nil
}

// nextLine hands out the read of the first line of a kept node.
func (w *walk) nextLine() (offload.Ref, bool) {
	if w.lined == len(w.relied) {
		return offload.Ref{}, false
	}
	k := &w.relied[w.lined]
	w.lined++
	return offload.Ref{
		Offset: uint64(k.chunk) * uint64(w.slab.node), Len: rstar.LineBytes,
		Hop: k.hop, Tag: lineTag | uint64(w.lined-1),
	}, true
}

// ref is the read of a node, after a look at whether it can exist. Every
// node has one parent, and one that got another since carries a stamp
// that view refuses: a walk names no more nodes than there are, or the
// memory holds no tree. Without this bound a few nodes that name each
// other would keep a client busy for ever. (Copies may name a node more
// than once, each from another time; they are few beside all chunks.)
func (w *walk) ref(chunk uint64, level int, hop uint16) (offload.Ref, error) {
	if chunk == 0 || chunk >= w.h.Chunks || level < 0 || level >= w.h.Height {
		return offload.Ref{}, fmt.Errorf("%w: reference to chunk %d at level %d; the slab has %d chunks, the tree %d levels",
			ErrProtocol, chunk, level, w.h.Chunks, w.h.Height)
	}
	if w.refs++; w.refs >= w.h.Chunks {
		return offload.Ref{}, fmt.Errorf("%w: more than %d references to nodes in a slab of %d chunks",
			ErrProtocol, w.refs-1, w.h.Chunks)
	}
	return w.whole(chunk, level, hop), nil
}

// whole is the read of all of a node. By itself it is for one that ref has
// counted, of which only the first lines were read.
func (w *walk) whole(chunk uint64, level int, hop uint16) offload.Ref {
	return offload.Ref{
		Offset: chunk * uint64(w.slab.node), Len: w.slab.node,
		Hop: hop, Tag: uint64(level)<<32 | chunk,
	}
}

// copyOf returns the kept node that saves a read, nil if there is none.
func (w *walk) copyOf(ref offload.Ref) *kept {
	level := int(ref.Tag >> 32)
	if w.cache == nil || level == 0 || ref.Tag&tagBits != 0 {
		return nil
	}
	k := w.cache.Get(uint64(uint32(ref.Tag)))
	if k == nil || k.node.Level() != level {
		return nil
	}
	w.used++
	if w.now == 0 || !k.trusted(w.now-min(w.now-1, w.slab.trust), w.h.Moves) {
		w.relied = append(w.relied, relied{k, uint32(ref.Tag), ref.Hop})
	}
	return k
}

// headsBelow is how many objects a leaf is expected to show for which only
// its heads are read first. They are 448 of 1984 bytes, and it takes another
// round trip if they do not rule everything out, one search in nine at most.
const headsBelow = 1.0 / 8

// headsFirst reports whether only the heads of a leaf, child i of n, are to
// be read: hardly an object in q is expected there.
func headsFirst(n rstar.Node, i int, q *rstar.Rect, nodeBytes uint32) bool {
	r := n.Rect(i)
	const full = 7.0 / 5 / rstar.LineBytes // objects per byte
	return share(r.MinX, r.MaxX, q.MinX, q.MaxX)*share(r.MinY, r.MaxY, q.MinY, q.MaxY)*
		full*float64(nodeBytes) < headsBelow
}

// childRef is the read of child i of n. Heads come only with a cache: they
// are not in the paper.
func (w *walk) childRef(n rstar.Node, i int, q *rstar.Rect, hop uint16) (offload.Ref, error) {
	ref, err := w.ref(n.Ref(i), n.Level()-1, hop)
	if err == nil && w.cache != nil && n.Level() == 1 && headsFirst(n, i, q, w.slab.node) {
		ref.Len, ref.Tag = uint32(rstar.HeadBytes(int(w.slab.node))), ref.Tag|headsTag
	}
	return ref, err
}

// share is how much of [a, b] lies in [c, d].
func share(a, b, c, d float64) float64 {
	if a == b {
		return 1
	}
	return (min(b, d) - max(a, c)) / (b - a)
}

// visitHeads takes the first lines of a leaf. It returns the read of all of
// it if they do not rule out that there are objects in q.
func (w *walk) visitHeads(ref offload.Ref, b []byte, q *rstar.Rect) (more offload.Ref, v offload.Verdict, err error) {
	chunk := uint32(ref.Tag)
	none, err := rstar.Misses(b, int(w.slab.node), chunk, w.h.Moves, *q)
	if v, err := w.judge(err); err != nil || v != offload.Accept || none {
		return more, v, err
	}
	return w.whole(uint64(chunk), 0, ref.Hop+1), offload.Accept, nil
}

// visitHeader takes the header's bytes.
func (w *walk) visitHeader(b []byte) (offload.Verdict, error) {
	h, err := rstar.ParseHeader(b)
	switch {
	case errors.Is(err, rstar.ErrTorn):
		return offload.Retry, nil
	case err != nil:
		return 0, err
	case h.BootID != w.slab.bootID:
		return 0, fmt.Errorf("%w: boot id %#x, was %#x", errServerChanged, h.BootID, w.slab.bootID)
	case h.NodeBytes != int(w.slab.node) || h.Chunks > w.slab.bytes/uint64(w.slab.node):
		return 0, fmt.Errorf("%w: slab header: %d bytes a node, %d chunks, height %d in %d bytes",
			ErrProtocol, h.NodeBytes, h.Chunks, h.Height, w.slab.bytes)
	}
	w.slab.learn(h)
	if !w.ready {
		w.h, w.ready = h, true
	}
	return offload.Accept, nil
}

// view validates a node's bytes, and keeps an internal one.
func (w *walk) view(chunk uint32, level int, b []byte) (rstar.Node, offload.Verdict, error) {
	n, err := rstar.ViewNode(b, chunk, level, w.h.Moves)
	v, err := w.judge(err)
	if v == offload.Accept && err == nil && level > 0 && w.slab.cache != nil {
		w.slab.cache.Put(uint64(chunk), func(k *kept) {
			k.node = n.Clone()
			if w.now > 0 {
				k.confirm(w.now, w.h.Moves)
			}
		})
	}
	return n, v, err
}

// judge turns what rstar says of a node into a verdict.
func (w *walk) judge(err error) (offload.Verdict, error) {
	switch {
	case err == nil:
		return offload.Accept, nil
	case errors.Is(err, rstar.ErrTorn):
		return offload.Retry, nil
	case errors.Is(err, rstar.ErrMoved):
		return offload.Restart, nil
	case errors.Is(err, rstar.ErrCorrupt) && w.used > 0 && !w.distrust:
		w.distrust = true
		return offload.Restart, nil
	}
	return 0, err
}

// visitLine takes the first line of a kept node. changed asks to have all
// of it read.
func (w *walk) visitLine(k *relied, b []byte) (v offload.Verdict, changed bool, err error) {
	err = k.node.Validate(b, w.h.Moves)
	switch {
	case err == nil:
		if w.now > 0 {
			k.confirm(w.now, w.h.Moves)
		}
		return offload.Accept, false, nil
	case errors.Is(err, rstar.ErrTorn):
		return offload.Retry, false, nil
	case errors.Is(err, rstar.ErrChanged):
		w.repairs++
		return offload.Accept, true, nil
	case errors.Is(err, rstar.ErrMoved) && k.node.Stamp() > w.h.Moves:
		return offload.Restart, false, nil // the copy is newer than this walk
	case errors.Is(err, rstar.ErrMoved):
		w.cache.Drop(uint64(k.chunk), k.kept)
		return offload.Restart, false, nil
	}
	return 0, false, err
}

// maxItems bounds an answer on this way as the others' bytes do.
const maxItems = maxReply / itemBytes

// searchWalk finds what intersects a rectangle. Reused by its lane.
type searchWalk struct {
	walk
	q     rstar.Rect
	limit int // 0: all
	count bool
	found int
	items []rstar.Item
	base  int // items before this walk's, the caller's own
	todo  []offload.Ref
	hits  []int32
	named []uint64 // what a copy named, when it is repaired
	err   error
}

func (s *searchWalk) restart(sl *slab, try int) {
	s.begin(sl, try)
	s.items, s.todo, s.found, s.err = s.items[:s.base], s.todo[:0], 0, nil
}

func (s *searchWalk) full() bool { return s.limit > 0 && s.found >= s.limit }

// Next reads the header and the root, then what Visit found; what is kept
// it looks at here. Last come the lines. They, and the nodes that they show
// to have changed, are read also if the limit is reached: two copies may have
// named one leaf, and only their nodes tell.
func (s *searchWalk) Next() (offload.Ref, bool) {
	r, ok, err := s.next()
	for {
		switch {
		case err != nil:
			s.err = err
			return r, false
		case !ok && len(s.todo) == 0:
			return s.nextLine()
		case !ok:
			r = s.todo[len(s.todo)-1]
			s.todo = s.todo[:len(s.todo)-1]
			if s.full() && r.Tag&repairTag == 0 {
				continue
			}
		}
		k := s.copyOf(r)
		if k == nil {
			return r, true
		}
		err = s.name(k.node, r.Hop)
		ok = false
	}
}

// name adds the children of an internal node that are to be read in round
// trip hop.
func (s *searchWalk) name(n rstar.Node, hop uint16) error {
	s.hits = n.AppendHits(s.hits[:0], s.q)
	for _, i := range s.hits {
		r, err := s.childRef(n, int(i), &s.q, hop)
		if err != nil {
			return err
		}
		s.todo = append(s.todo, r)
	}
	return nil
}

// Visit takes one block.
func (s *searchWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag == headerTag {
		return s.visitHeader(b)
	}
	if ref.Tag&headsTag != 0 {
		r, v, err := s.visitHeads(ref, b, &s.q)
		if r.Len > 0 && err == nil {
			s.todo = append(s.todo, r)
		}
		return v, err
	}
	if ref.Tag&tagBits != 0 {
		return s.visitKept(ref, b)
	}
	n, v, err := s.view(uint32(ref.Tag), int(ref.Tag>>32), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	if n.Leaf() {
		return s.visitLeaf(n)
	}
	return offload.Accept, s.name(n, ref.Hop+1)
}

// visitKept takes a line of a kept node, or all of one that has changed.
func (s *searchWalk) visitKept(ref offload.Ref, b []byte) (offload.Verdict, error) {
	i := uint32(ref.Tag)
	k := &s.relied[i]
	if ref.Tag&lineTag != 0 {
		v, changed, err := s.visitLine(k, b)
		if changed {
			ref = s.whole(uint64(k.chunk), k.node.Level(), ref.Hop+1)
			ref.Tag = repairTag | uint64(i)
			s.todo = append(s.todo, ref)
		}
		return v, err
	}
	n, v, err := s.view(k.chunk, k.node.Level(), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	// By reference: a move may have changed the order.
	s.named = s.named[:0]
	s.hits = k.node.AppendHits(s.hits[:0], s.q)
	for _, j := range s.hits {
		r := k.node.Ref(int(j))
		if n.Stamp() != k.node.Stamp() && !n.Names(r) {
			return offload.Restart, nil
		}
		s.named = append(s.named, r)
	}
	s.hits = n.AppendHits(s.hits[:0], s.q)
	for _, j := range s.hits {
		if slices.Contains(s.named, n.Ref(int(j))) {
			continue
		}
		r, err := s.childRef(n, int(j), &s.q, ref.Hop+1)
		if err != nil {
			return 0, err
		}
		s.todo = append(s.todo, r)
	}
	return offload.Accept, nil
}

// visitLeaf takes the hits of a leaf.
func (s *searchWalk) visitLeaf(n rstar.Node) (offload.Verdict, error) {
	before := len(s.items)
	s.items = n.AppendItems(s.items, s.q)
	hits := len(s.items) - before
	if s.limit > 0 {
		hits = min(hits, s.limit-s.found)
	}
	s.found += hits
	if s.count {
		hits = 0
	}
	s.items = s.items[:before+hits]
	if len(s.items)-s.base > maxItems {
		return 0, fmt.Errorf("%w: answer exceeds %d objects", fastmsg.ErrTooLarge, maxItems)
	}
	return offload.Accept, nil
}

// Neighbor is an object found by Nearest, with its distance.
type Neighbor struct {
	rstar.Item
	Dist float64
}

// nearestWalk finds the k objects nearest to a point: best-first (Hjaltason
// and Samet 1999). The nodes nearest by their boxes are read next, several
// at once up to speculate, and none whose box is farther than the k-th
// object found so far.
type nearestWalk struct {
	walk
	x, y float64
	k    int
	best []Neighbor // max-heap by distance, at most k
	todo []nodeDist // min-heap by distance
	out  int
	err  error
}

type nodeDist struct {
	ref  offload.Ref
	dist float64
}

// speculate bounds nodes read at once: the second nearest node is needed
// about every other time, later ones rarely.
const speculate = 3

func (s *nearestWalk) restart(sl *slab, try int) {
	s.begin(sl, try)
	s.best, s.todo, s.out, s.err = s.best[:0], s.todo[:0], 0, nil
}

// Next reads the header and the root, then the nearest nodes; lines when
// there is nothing else to do.
func (s *nearestWalk) Next() (offload.Ref, bool) {
	r, ok, err := s.next()
	for {
		switch {
		case err != nil:
			s.err = err
			return r, false
		case !ok && (len(s.todo) == 0 || s.out >= speculate ||
			len(s.best) == s.k && s.todo[0].dist > s.best[0].Dist):
			return s.nextLine()
		case !ok:
			r = heapPop(&s.todo, byNodeDist).ref
		}
		k := s.copyOf(r)
		if k == nil {
			s.out++
			return r, true
		}
		err = s.name(k.node, r.Hop)
		ok = false
	}
}

// name adds the children of an internal node that are to be read in round
// trip hop.
func (s *nearestWalk) name(n rstar.Node, hop uint16) error {
	for i := range n.Count() {
		d := n.Rect(i).Distance(s.x, s.y)
		if len(s.best) == s.k && d > s.best[0].Dist {
			continue
		}
		r, err := s.ref(n.Ref(i), n.Level()-1, hop)
		if err != nil {
			return err
		}
		heapPush(&s.todo, nodeDist{r, d}, byNodeDist)
	}
	return nil
}

// Visit takes one block.
func (s *nearestWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	switch {
	case ref.Tag == headerTag:
		v, err := s.visitHeader(b)
		if v == offload.Accept {
			s.out--
		}
		return v, err
	case ref.Tag&lineTag != 0:
		k := &s.relied[uint32(ref.Tag)]
		v, changed, err := s.visitLine(k, b)
		if changed {
			// Nodes were put in order, and left out, by the old boxes.
			s.cache.Drop(uint64(k.chunk), k.kept)
			v = offload.Restart
		}
		return v, err
	}
	n, v, err := s.view(uint32(ref.Tag), int(ref.Tag>>32), b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	s.out--
	if !n.Leaf() {
		return offload.Accept, s.name(n, ref.Hop+1)
	}
	for i := range n.Count() {
		r := n.Rect(i)
		d := r.Distance(s.x, s.y)
		if len(s.best) == s.k {
			if d > s.best[0].Dist {
				continue
			}
			heapPop(&s.best, byFarther)
		}
		heapPush(&s.best, Neighbor{rstar.Item{Rect: r, ID: n.Ref(i)}, d}, byFarther)
	}
	return offload.Accept, nil
}

// sortNeighbors orders nearest first, ties by id.
func sortNeighbors(n []Neighbor) {
	slices.SortFunc(n, func(a, b Neighbor) int {
		return cmp.Or(cmp.Compare(a.Dist, b.Dist), cmp.Compare(a.ID, b.ID))
	})
}

func byNodeDist(a, b nodeDist) bool { return a.dist < b.dist }
func byFarther(a, b Neighbor) bool  { return a.Dist > b.Dist }
