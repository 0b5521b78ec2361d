package remote

import "github.com/catfish-index/catfish/rstar"

// mostEstimated bounds the nodes that an estimate looks at, 20 ns each. What
// takes more is large, whatever else is said of it.
const mostEstimated = 1 << 10

// Estimate is what searches would read, as far as kept nodes tell. They
// may be old.
type Estimate struct {
	Leaves  int // that kept nodes name
	Heads   int // of these, how many by their first lines only
	Missing int // internal nodes that are not kept, with unknown ones below
	Cached  int // nodes that tell this; each costs a line's read
	Bytes   int // of the first round trip
}

// Estimator makes estimates; it reuses its buffers.
type Estimator struct {
	todo []uint64 // nodes, as tags
	hits []int32
}

// Add adds to e what a search of r in t would read. t has a cache.
func (q *Estimator) Add(e *Estimate, t *Tree, r *rstar.Rect) {
	h := t.known.Load()
	if h == nil {
		e.Missing++ // the root, wherever it is
		return
	}
	q.todo = append(q.todo[:0], uint64(h.Height-1)<<32|uint64(h.Root))
	for len(q.todo) > 0 && e.Cached < mostEstimated {
		at := q.todo[len(q.todo)-1]
		q.todo = q.todo[:len(q.todo)-1]
		level := int(at >> 32)
		if level == 0 {
			e.Leaves++
			continue
		}
		k := t.Cache.nodes.Get(uint64(uint32(at)))
		if k == nil || k.node.Level() != level {
			e.Missing++
			continue
		}
		e.Cached++
		q.hits = k.node.AppendHits(q.hits[:0], *r)
		for _, i := range q.hits {
			if level == 1 {
				e.Leaves++
				if rstar.HeadsFirst(k.node.Rect(int(i)), *r, int(t.NodeBytes)) {
					e.Heads++
				}
				continue
			}
			q.todo = append(q.todo, uint64(level-1)<<32|k.node.Ref(int(i)))
		}
	}
	e.Bytes = (e.Leaves-e.Heads+e.Missing)*int(t.NodeBytes) + e.Heads*rstar.HeadBytes(int(t.NodeBytes)) +
		e.Cached*rstar.LineBytes
}
