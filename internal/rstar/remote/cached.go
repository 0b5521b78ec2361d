package remote

import (
	"errors"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// The part of a walk that uses copies of nodes. doc.go draws it, rstar/validate.go
// argues that it is right.

// usedCopy is a copy that a walk used in place of a read.
type usedCopy struct {
	*cachedNode
	chunk uint32
	hop   uint16
}

// addStats adds the counts of the cache's use.
func (w *walk) addStats(st *offload.Stats) {
	st.Cached += uint64(w.cached)
	st.Repairs += uint64(w.repairs)
}

// copyOf returns the copy that saves a read, nil if there is none.
func (w *walk) copyOf(ref offload.Ref) *cachedNode {
	level := int(ref.Tag >> 32)
	if w.cache == nil || level == 0 || ref.Tag&tagBits != 0 {
		return nil
	}
	k := w.cache.nodes.Get(uint64(uint32(ref.Tag)))
	if k == nil || k.node.Level() != level {
		return nil
	}
	w.cached++
	if w.now == 0 || !k.trusted(w.now-min(w.now-1, uint64(w.tree.Trust)), w.h.Moves) {
		w.copies = append(w.copies, usedCopy{k, uint32(ref.Tag), ref.Hop})
	}
	return k
}

// nextLine hands out the read of the first line of a node whose copy was
// used.
func (w *walk) nextLine() (offload.Ref, bool) {
	if w.validating == len(w.copies) {
		return offload.Ref{}, false
	}
	k := &w.copies[w.validating]
	w.validating++
	return offload.Ref{
		Offset: uint64(k.chunk) * uint64(w.tree.NodeBytes), Len: rstar.LineBytes,
		Read: offload.Read{Hop: k.hop}, Tag: lineTag | uint64(w.validating-1),
	}, true
}

// visitLine validates copies[i] by its node's first line. If the node has
// changed, repair is the read of all of it.
func (w *walk) visitLine(i uint32, b []byte) (repair offload.Ref, v offload.Verdict, err error) {
	k := &w.copies[i]
	err = k.node.Validate(b, w.h.Moves)
	switch {
	case err == nil:
		if w.now > 0 {
			k.confirm(w.now, w.h.Moves)
		}
		return repair, offload.Accept, nil
	case errors.Is(err, rstar.ErrTorn):
		return repair, offload.Retry, nil
	case errors.Is(err, rstar.ErrChanged):
		w.repairs++
		repair = w.whole(uint64(k.chunk), k.node.Level(), k.hop+1)
		repair.Tag = repairTag | uint64(i)
		return repair, offload.Accept, nil
	case errors.Is(err, rstar.ErrMoved) && k.node.Stamp() > w.h.Moves:
		return repair, offload.Restart, nil // the copy is newer than this walk
	case errors.Is(err, rstar.ErrMoved):
		w.cache.nodes.Drop(uint64(k.chunk), k.cachedNode)
		return repair, offload.Restart, nil
	}
	return repair, 0, err
}
