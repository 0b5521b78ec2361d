package remote

import (
	"errors"

	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// The part of a walk that goes by kept nodes; traverse.go draws it,
// rstar/validate.go argues that it is right.

// relied is a kept node that a walk went by.
type relied struct {
	*kept
	chunk uint32
	hop   uint16
}

// tell adds what the cache did.
func (w *walk) tell(st *offload.Stats) {
	st.Cached += uint64(w.used)
	st.Repairs += uint64(w.repairs)
}

// copyOf returns the kept node that saves a read, nil if there is none.
func (w *walk) copyOf(ref offload.Ref) *kept {
	level := int(ref.Tag >> 32)
	if w.cache == nil || level == 0 || ref.Tag&tagBits != 0 {
		return nil
	}
	k := w.cache.nodes.Get(uint64(uint32(ref.Tag)))
	if k == nil || k.node.Level() != level {
		return nil
	}
	w.used++
	if w.now == 0 || !k.trusted(w.now-min(w.now-1, uint64(w.slab.Trust)), w.h.Moves) {
		w.relied = append(w.relied, relied{k, uint32(ref.Tag), ref.Hop})
	}
	return k
}

// nextLine hands out the read of the first line of a kept node.
func (w *walk) nextLine() (offload.Ref, bool) {
	if w.lined == len(w.relied) {
		return offload.Ref{}, false
	}
	k := &w.relied[w.lined]
	w.lined++
	return offload.Ref{
		Offset: uint64(k.chunk) * uint64(w.slab.NodeBytes), Len: rstar.LineBytes,
		Hop: k.hop, Tag: lineTag | uint64(w.lined-1),
	}, true
}

// visitLine takes the first line of a kept node, relied[i]. If that has
// changed, repair is the read of all of it.
func (w *walk) visitLine(i uint32, b []byte) (repair offload.Ref, v offload.Verdict, err error) {
	k := &w.relied[i]
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
		w.cache.nodes.Drop(uint64(k.chunk), k.kept)
		return repair, offload.Restart, nil
	}
	return repair, 0, err
}
