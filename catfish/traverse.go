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

// slab is one collection's memory at the server, as a client knows it.
type slab struct {
	base   rdma.Remote
	bytes  uint64
	node   uint32
	bootID uint64
	known  atomic.Pointer[rstar.Header] // latest header read; nil at first
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

// headerTag marks the header's read; a node's tag is level<<32 | chunk.
const headerTag = ^uint64(0)

// errServerChanged: the slab is another server's; the session is over.
var errServerChanged = errors.New("catfish: server restarted")

// walk is what every traversal shares: the header protocol and the bounds
// checks on what a server's memory says.
type walk struct {
	slab   *slab
	h      rstar.Header // the header that this walk relies on
	ready  bool         // h is set, the root may be read
	asked  bool         // the header's read was handed out
	rooted bool         // the root's was
	refs   uint64       // nodes named so far
}

// begin starts a walk, or starts it again after a restart.
func (w *walk) begin(s *slab, again bool) {
	*w = walk{slab: s}
	if h := s.known.Load(); h != nil && !again {
		w.h, w.ready = *h, true
	}
}

// next hands out the header's read and then the root's.
func (w *walk) next() (offload.Ref, bool, error) {
	if !w.asked {
		w.asked = true
		return offload.Ref{Len: rstar.HeaderBytes, Hop: 1, Tag: headerTag}, true, nil
	}
	if w.ready && !w.rooted {
		w.rooted = true
		r, err := w.ref(uint64(w.h.Root), w.h.Height-1)
		return r, err == nil, err
	}
	return offload.Ref{}, false, nil
}

// ref is the read of a node, after a look at whether it can exist. Every
// node has one parent, and one that got another since carries a stamp
// that view refuses: a walk names no more nodes than there are, or the
// memory holds no tree. Without this bound a few nodes that name each
// other would keep a client busy for ever.
func (w *walk) ref(chunk uint64, level int) (offload.Ref, error) {
	if chunk == 0 || chunk >= w.h.Chunks || level < 0 || level >= w.h.Height {
		return offload.Ref{}, fmt.Errorf("%w: reference to chunk %d at level %d; the slab has %d chunks, the tree %d levels",
			ErrProtocol, chunk, level, w.h.Chunks, w.h.Height)
	}
	if w.refs++; w.refs >= w.h.Chunks {
		return offload.Ref{}, fmt.Errorf("%w: more than %d references to nodes in a slab of %d chunks",
			ErrProtocol, w.refs-1, w.h.Chunks)
	}
	return offload.Ref{
		Offset: chunk * uint64(w.slab.node), Len: w.slab.node,
		Hop: uint16(w.h.Height - level), Tag: uint64(level)<<32 | chunk,
	}, nil
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

// view validates a node's bytes.
func (w *walk) view(ref offload.Ref, b []byte) (rstar.Node, offload.Verdict, error) {
	n, err := rstar.ViewNode(b, uint32(ref.Tag), int(ref.Tag>>32), w.h.Moves)
	switch {
	case err == nil:
		return n, offload.Accept, nil
	case errors.Is(err, rstar.ErrTorn):
		return n, offload.Retry, nil
	case errors.Is(err, rstar.ErrMoved):
		return n, offload.Restart, nil
	}
	return n, 0, err
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
	err   error
}

func (s *searchWalk) restart(sl *slab, again bool) {
	s.begin(sl, again)
	s.items, s.todo, s.found, s.err = s.items[:s.base], s.todo[:0], 0, nil
}

func (s *searchWalk) full() bool { return s.limit > 0 && s.found >= s.limit }

// Next reads the header and the root, then what Visit found.
func (s *searchWalk) Next() (offload.Ref, bool) {
	r, ok, err := s.next()
	if err != nil {
		s.err = err
		return r, false
	}
	if ok || len(s.todo) == 0 || s.full() {
		return r, ok
	}
	r = s.todo[len(s.todo)-1]
	s.todo = s.todo[:len(s.todo)-1]
	return r, true
}

// Visit takes one block.
func (s *searchWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag == headerTag {
		return s.visitHeader(b)
	}
	n, v, err := s.view(ref, b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	if n.Leaf() {
		return s.visitLeaf(n)
	}
	s.hits = n.AppendHits(s.hits[:0], s.q)
	for _, i := range s.hits {
		r, err := s.ref(n.Ref(int(i)), n.Level()-1)
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

func (s *nearestWalk) restart(sl *slab, again bool) {
	s.begin(sl, again)
	s.best, s.todo, s.out, s.err = s.best[:0], s.todo[:0], 0, nil
}

// Next reads the header and the root, then the nearest nodes.
func (s *nearestWalk) Next() (offload.Ref, bool) {
	r, ok, err := s.next()
	if err != nil {
		s.err = err
		return r, false
	}
	if ok {
		s.out++
		return r, true
	}
	if len(s.todo) == 0 || s.out >= speculate {
		return r, false
	}
	if len(s.best) == s.k && s.todo[0].dist > s.best[0].Dist {
		return r, false
	}
	n := heapPop(&s.todo, byNodeDist)
	s.out++
	return n.ref, true
}

// Visit takes one block.
func (s *nearestWalk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag == headerTag {
		v, err := s.visitHeader(b)
		if v == offload.Accept {
			s.out--
		}
		return v, err
	}
	n, v, err := s.view(ref, b)
	if err != nil || v != offload.Accept {
		return v, err
	}
	s.out--
	for i := range n.Count() {
		r := n.Rect(i)
		d := r.Distance(s.x, s.y)
		if len(s.best) == s.k && d > s.best[0].Dist {
			continue
		}
		if !n.Leaf() {
			ref, err := s.ref(n.Ref(i), n.Level()-1)
			if err != nil {
				return 0, err
			}
			heapPush(&s.todo, nodeDist{ref, d}, byNodeDist)
			continue
		}
		if len(s.best) == s.k {
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
