package catfish

import "github.com/catfish-index/catfish/rstar"

// mostEstimated bounds the nodes that an estimate looks at, 20 ns each. What
// takes more is large, whatever else is said of it.
const mostEstimated = 1 << 10

// Estimate fills an estimate: what the query would read by offloading, as far
// as kept nodes tell. They may be old. There are none without a cache, and
// they tell nothing of a search for the nearest.
func (q *query) Estimate(e *Estimate) bool {
	s := q.at
	if s.cache == nil || q.kind == kindNearest {
		return false
	}
	*e = Estimate{Searches: 1}
	if q.kind != kindSearchMany {
		q.lookAt(s, &q.rect, e)
		return true
	}
	e.Searches = len(q.rects)
	for i := range q.rects {
		q.lookAt(s, &q.rects[i], e)
	}
	return true
}

func (q *query) lookAt(s *slab, r *rstar.Rect, e *Estimate) {
	h := s.known.Load()
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
		k := s.cache.Get(uint64(uint32(at)))
		if k == nil || k.node.Level() != level {
			e.Missing++
			continue
		}
		e.Cached++
		q.hits = k.node.AppendHits(q.hits[:0], *r)
		for _, i := range q.hits {
			if level == 1 {
				e.Leaves++
				if rstar.HeadsFirst(k.node.Rect(int(i)), *r, int(s.node)) {
					e.Heads++
				}
				continue
			}
			q.todo = append(q.todo, uint64(level-1)<<32|k.node.Ref(int(i)))
		}
	}
	e.Bytes = (e.Leaves-e.Heads+e.Missing)*int(s.node) + e.Heads*rstar.HeadBytes(int(s.node)) +
		e.Cached*rstar.LineBytes
}
