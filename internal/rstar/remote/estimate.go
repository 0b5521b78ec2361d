package remote

import "github.com/catfish-index/catfish/rstar"

// mostEstimated bounds the copies that an estimate visits, 20 ns each. A search that
// needs more is large, and its exact size does not matter.
const mostEstimated = 1 << 10

// Estimate is the reads of searches, as far as cached nodes show. These may be old.
type Estimate struct {
	Leaves  int // that cached nodes name
	Heads   int // of these, how many by their heads (leafhead.go)
	Missing int // internal nodes not in the cache; the nodes below are unknown
	Cached  int // cached nodes; each costs the read of a line
	Bytes   int // of the first round trip
}

// Estimator makes estimates; it reuses its buffers.
type Estimator struct {
	todo []uint64 // tags of nodes
	hits []int32
}

// Add adds to e the reads of a search of q in t, which has a cache.
func (est *Estimator) Add(e *Estimate, t *Tree, q *rstar.Rect) {
	h := t.known.Load()
	if h == nil {
		e.Missing++ // the root, whose chunk is unknown
		return
	}
	est.todo = append(est.todo[:0], uint64(h.Height-1)<<32|uint64(h.Root))
	for len(est.todo) > 0 && e.Cached < mostEstimated {
		at := est.todo[len(est.todo)-1]
		est.todo = est.todo[:len(est.todo)-1]
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
		est.hits = k.node.AppendHits(est.hits[:0], *q)
		for _, i := range est.hits {
			if level == 1 {
				e.Leaves++
				if !t.WholeLeaves && rstar.HeadsFirst(k.node.Rect(int(i)), *q, int(t.NodeBytes)) {
					e.Heads++
				}
				continue
			}
			est.todo = append(est.todo, uint64(level-1)<<32|k.node.Ref(int(i)))
		}
	}
	e.Bytes = (e.Leaves-e.Heads+e.Missing)*int(t.NodeBytes) + e.Heads*rstar.HeadBytes(int(t.NodeBytes)) +
		e.Cached*rstar.LineBytes
}
