package remote

import (
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// Leaves of which only the first lines are read, where they are likely to
// rule out every object (docs/decisions/leaf-heads.md).

// childRef is the read of child i of n. Heads come only with a cache: they
// are not in the paper.
func (w *walk) childRef(n rstar.Node, i int, q *rstar.Rect, hop uint16) (offload.Ref, error) {
	ref, err := w.ref(n.Ref(i), n.Level()-1, hop)
	if err == nil && w.cache != nil && n.Level() == 1 && rstar.HeadsFirst(n.Rect(i), *q, int(w.slab.NodeBytes)) {
		ref.Len, ref.Tag = uint32(rstar.HeadBytes(int(w.slab.NodeBytes))), ref.Tag|headsTag
	}
	return ref, err
}

// visitHeads takes the first lines of a leaf. It returns the read of all of
// it if they do not rule out that there are objects in q.
func (w *walk) visitHeads(ref offload.Ref, b []byte, q *rstar.Rect) (more offload.Ref, v offload.Verdict, err error) {
	chunk := uint32(ref.Tag)
	none, err := rstar.Misses(b, int(w.slab.NodeBytes), chunk, w.h.Moves, *q)
	if v, err := w.judge(err); err != nil || v != offload.Accept || none {
		return more, v, err
	}
	return w.whole(uint64(chunk), 0, ref.Hop+1), offload.Accept, nil
}
