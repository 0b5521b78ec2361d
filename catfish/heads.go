package catfish

import (
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// Leaves of which only the first lines are read, where they are likely to
// rule out every object (docs/decisions/leaf-heads.md).

// headsBelow is how many objects a leaf is expected to show for which only
// its heads are read first. They are 448 of 1984 bytes, and it takes another
// round trip if they do not rule everything out: for one such leaf in eight.
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
