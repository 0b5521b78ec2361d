package remote

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/offload"
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

// Tags: a node's is level<<32 | chunk. Those of the other reads have a bit
// that no level has; the bits of manyMask are free.
const (
	lineTag   = 1 << 62 // | index in relied: the first line of a kept node
	repairTag = 1 << 61 // | index in relied: all of it
	headsTag  = 1 << 60 // | chunk: the first lines of a leaf
	headerTag = 1 << 59
	tagBits   = lineTag | repairTag | headsTag | headerTag
)

// HeaderEvery is how many walks of a read channel with a cache go by for one that
// reads the header.
const HeaderEvery = 8

// walk is what every traversal shares: the header protocol, the cache, and
// the bounds checks on what a server's memory says.
type walk struct {
	slab    *Tree
	cache   *Cache       // to look into; nil: none
	h       rstar.Header // the header that this walk relies on
	first   uint16       // hop of the root
	ready   bool         // h is set, the root may be read
	asked   bool         // the header's read was handed out
	rooted  bool         // the root's was
	refs    uint64       // nodes named so far
	now     uint64       // if copies are trusted: when the walk began
	relied  []relied
	lined   int // of relied, whose lines' reads were handed out
	used    int // kept nodes gone by
	repairs int // of these, had changed
	turn    uint
}

// begin starts a walk, try 0, or starts it again after a restart.
func (w *walk) begin(s *Tree, try int) {
	clear(w.relied)
	last := *w
	*w = walk{slab: s, relied: last.relied[:0], turn: last.turn + 1, first: 1}
	if h := s.known.Load(); h != nil && try == 0 {
		w.h, w.ready = *h, true
	} else {
		w.first = 2
	}
	if s.Cache == nil || try > 1 {
		return
	}
	w.cache = s.Cache
	w.asked = w.ready && w.turn%HeaderEvery != 0
	if s.Trust > 0 {
		w.now = s.Cache.now()
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
		r, err := w.ref(uint64(w.h.Root), w.h.Height-1, w.first)
		return r, err == nil, err
	}
	return offload.Ref{}, false, nil
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
		Offset: chunk * uint64(w.slab.NodeBytes), Len: w.slab.NodeBytes,
		Hop: hop, Tag: uint64(level)<<32 | chunk,
	}
}

// visitHeader takes the header's bytes.
func (w *walk) visitHeader(b []byte) (offload.Verdict, error) {
	h, err := rstar.ParseHeader(b)
	switch {
	case errors.Is(err, rstar.ErrTorn):
		return offload.Retry, nil
	case err != nil:
		return 0, err
	case h.BootID != w.slab.BootID:
		return 0, fmt.Errorf("%w: boot id %#x, was %#x", ErrServerChanged, h.BootID, w.slab.BootID)
	case h.NodeBytes != int(w.slab.NodeBytes) || h.Chunks > w.slab.Bytes/uint64(w.slab.NodeBytes):
		return 0, fmt.Errorf("%w: slab header: %d bytes a node, %d chunks, height %d in %d bytes",
			ErrProtocol, h.NodeBytes, h.Chunks, h.Height, w.slab.Bytes)
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
	if v == offload.Accept && err == nil && level > 0 && w.slab.Cache != nil {
		w.slab.Cache.nodes.Put(uint64(chunk), func(k *kept) {
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
	case errors.Is(err, rstar.ErrCorrupt) && w.used > 0:
		return offload.Restart, nil // by an old copy's word; the third try has none
	}
	return 0, err
}
