package remote

import (
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// A leaf's head is its first lines: they hold the high bits of the
// coordinates of all its objects. Where these are likely to rule out every
// object, only the head is read (docs/decisions/leaf-heads.md).

// childRef is the read of child i of n. Heads are read only with a cache:
// they are not in the paper.
func (w *walk) childRef(n rstar.Node, i int, q *rstar.Rect, hop uint16) (offload.Ref, error) {
	ref, err := w.ref(n.Ref(i), n.Level()-1, hop)
	if err == nil && w.cache != nil && !w.tree.WholeLeaves && n.Level() == 1 &&
		rstar.HeadsFirst(n.Rect(i), *q, int(w.tree.NodeBytes)) {
		ref.Len, ref.Tag = uint32(rstar.HeadBytes(int(w.tree.NodeBytes))), ref.Tag|leafHeadTag
	}
	return ref, err
}

// visitLeafHead takes the head of a leaf. It returns the read of all of the
// leaf unless the head rules out that there are objects in q.
func (w *walk) visitLeafHead(ref offload.Ref, b []byte, q *rstar.Rect) (more offload.Ref, v offload.Verdict, err error) {
	chunk := uint32(ref.Tag)
	none, err := rstar.Misses(b, int(w.tree.NodeBytes), chunk, w.h.Moves, *q)
	if v, err := w.judge(err); err != nil || v != offload.Accept || none {
		return more, v, err
	}
	return w.whole(uint64(chunk), 0, ref.Hop+1), offload.Accept, nil
}
