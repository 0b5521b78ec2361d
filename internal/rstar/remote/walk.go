package remote

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// Tags of reads. A node's is level<<32 | chunk. The other reads have a bit
// that no level has. The bits of manyMask are free.
const (
	lineTag     = 1 << 62 // | index in copies: the first line of a node
	repairTag   = 1 << 61 // | index in copies: all of a node that has changed
	leafHeadTag = 1 << 60 // | chunk: the first lines of a leaf
	headerTag   = 1 << 59
	tagBits     = lineTag | repairTag | leafHeadTag | headerTag
)

// HeaderEvery is the number of walks of a Tree with a cache that share one read of the
// header.
const HeaderEvery = 8

// walk is shared by all traversals: the header protocol, the cache, and the checks of a
// server's memory.
type walk struct {
	tree       *Tree
	cache      *Cache       // to look into; nil: none
	h          rstar.Header // the header that this walk uses
	first      uint16       // hop of the root
	ready      bool         // h is set, the root may be read
	asked      bool         // the header's read was handed out
	rooted     bool         // the root's was
	refs       uint64       // nodes named so far
	now        uint64       // if copies are trusted: when the walk began
	copies     []usedCopy   // to be validated
	validating int          // number of copies whose line read was handed out
	cached     int          // copies used, for the statistics
	repairs    int          // of these, had changed
}

// begin starts a walk, try 0, or starts it again after a restart.
func (w *walk) begin(t *Tree, try int) {
	clear(w.copies)
	last := *w
	*w = walk{tree: t, copies: last.copies[:0], first: 1}
	if h := t.known.Load(); h != nil && try == 0 {
		w.h, w.ready = *h, true
	} else {
		w.first = 2
	}
	if t.Cache == nil {
		w.asked = w.ready && t.KnownRoot
		return
	}
	turn := t.walks.Add(1)
	if try > 1 {
		return
	}
	w.cache = t.Cache
	w.asked = w.ready && turn%HeaderEvery != 0
	if t.Trust > 0 {
		w.now = t.Cache.now()
	}
}

// next hands out the header's read and then the root's. Where the last header says
// which node is the root, this one is read beside it, for the next walk.
func (w *walk) next() (offload.Ref, bool, error) {
	if !w.asked {
		w.asked = true
		hop := uint16(1)
		if w.ready && w.cache == nil {
			hop = 0
		}
		return offload.Ref{Len: rstar.HeaderBytes, Read: offload.Read{Hop: hop}, Tag: headerTag}, true, nil
	}
	if w.ready && !w.rooted {
		w.rooted = true
		r, err := w.ref(uint64(w.h.Root), w.h.Height-1, w.first)
		return r, err == nil, err
	}
	return offload.Ref{}, false, nil
}

// ref is the read of a node, after a check that it can exist. Every node has one
// parent, and one that got another since carries a stamp that view refuses. Copies of
// different age may name a node more than once, where most cached nodes have changed
// since. So a walk that names twice as many nodes as exist is in no tree. Without this
// bound a few nodes that name each other would keep a client busy for ever. A walk that
// has the header of an earlier one begins again where a node has a child beyond that.
func (w *walk) ref(chunk uint64, level int, hop uint16) (offload.Ref, error) {
	if chunk >= w.h.Chunks && w.first == 1 {
		return offload.Ref{}, offload.ErrRestart // the tree may have grown since its header was read
	}
	if chunk == 0 || chunk >= w.h.Chunks || level < 0 || level >= w.h.Height {
		return offload.Ref{}, fmt.Errorf("%w: reference to chunk %d at level %d; the slab has %d chunks, the tree %d levels",
			ErrProtocol, chunk, level, w.h.Chunks, w.h.Height)
	}
	if w.refs++; w.refs >= 2*w.h.Chunks {
		return offload.Ref{}, fmt.Errorf("%w: more than %d references to nodes in a slab of %d chunks",
			ErrProtocol, w.refs-1, w.h.Chunks)
	}
	return w.whole(chunk, level, hop), nil
}

// whole is the read of all of a node. ref calls it; others do for a node
// that ref has counted, and of which only the first lines were read.
func (w *walk) whole(chunk uint64, level int, hop uint16) offload.Ref {
	return offload.Ref{
		Offset: chunk * uint64(w.tree.NodeBytes), Len: w.tree.NodeBytes,
		Read: offload.Read{Hop: hop}, Tag: uint64(level)<<32 | chunk,
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
	case h.BootID != w.tree.BootID:
		return 0, fmt.Errorf("%w: boot id %#x, was %#x", ErrServerChanged, h.BootID, w.tree.BootID)
	case h.NodeBytes != int(w.tree.NodeBytes):
		return 0, fmt.Errorf("%w: slab header: %d bytes a node, want %d", ErrProtocol, h.NodeBytes, w.tree.NodeBytes)
	case h.Used > w.tree.Bytes/uint64(w.tree.NodeBytes):
		return 0, fmt.Errorf("%w: it uses %d nodes of %d bytes, known are %d bytes", ErrGrown, h.Used, h.NodeBytes, w.tree.Bytes)
	}
	h.Chunks = min(h.Chunks, w.tree.Bytes/uint64(w.tree.NodeBytes))
	w.tree.learn(h)
	if !w.ready {
		w.h, w.ready = h, true
	}
	return offload.Accept, nil
}

// view validates a node's bytes, and puts an internal one into the cache.
func (w *walk) view(chunk uint32, level int, b []byte) (rstar.Node, offload.Verdict, error) {
	n, err := rstar.ViewNode(b, chunk, level, w.h.Moves)
	v, err := w.judge(err)
	if v == offload.Accept && err == nil && level > 0 && w.tree.Cache != nil {
		w.tree.Cache.nodes.Put(uint64(chunk), func(k *cachedNode) {
			k.node = n.Clone()
			if w.now > 0 {
				k.confirm(w.now, w.h.Moves)
			}
		})
	}
	return n, v, err
}

// judge turns rstar's error for a node into a verdict.
func (w *walk) judge(err error) (offload.Verdict, error) {
	switch {
	case err == nil:
		return offload.Accept, nil
	case errors.Is(err, rstar.ErrTorn):
		return offload.Retry, nil
	case errors.Is(err, rstar.ErrMoved):
		return offload.Restart, nil
	case errors.Is(err, rstar.ErrCorrupt) && w.cached > 0:
		return offload.Restart, nil // an old copy named it; the third try uses none
	}
	return 0, err
}
