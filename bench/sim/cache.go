package sim

import (
	"slices"

	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/rstar"
)

// Cached internal nodes (Scheme.Cached). All clients of a machine share one
// cache, which has room for all. A search descends through cached nodes
// without reading, then reads in one batch the leaves and one line of each
// node that it used:
//
//	cached --> leaves   reads of blocks or heads \
//	     ----> missing  reads of whole blocks     > one batch, up to the window
//	     ----> lines    64 bytes of each cached  /
//
// Leaves with hardly a hit are read by their first lines (heads). The real
// tree decides which leaves these are, and whether the heads suffice
// (workload.go); if not, the whole leaf is read, in one more trip.
//
// A line that an insert changed since the node was cached means a repair: the
// node is read again, in one more trip, and the search continues. The real
// tree decides which nodes an insert changes (workload.go). New children of a
// repaired node are not modelled: the searches are those of one state of the
// tree.

// lineOf marks a read of a cached node's first line only, or of a leaf's heads.
const lineOf uint16 = 1 << 15

// missing says that a node is not cached.
const missing = -1

// makeCaches makes the caches, empty.
func (s *sim) makeCaches() {
	if !s.sch.Cached {
		return
	}
	s.writer.changedAt = make([]int64, s.w.Chunks)
	for i := range s.machines {
		for h := range s.hosts {
			s.machines[i].cachedAt = append(s.machines[i].cachedAt, slices.Repeat([]int64{missing}, s.hosts[h].w.Chunks))
		}
	}
}

// descend walks down cached nodes from one node, which is read if it is a leaf
// or not cached, and adds the nodes that it saw to e.
func (s *sim) descend(c *call, at uint16, e *policy.Estimate) {
	n := s.node(c, at)
	w := &c.walk
	switch {
	case n.leaf && n.heads:
		e.Leaves++
		e.Heads++
		w.known = append(w.known, at|lineOf)
	case n.leaf:
		e.Leaves++
		w.known = append(w.known, at)
	case s.machines[c.machine].cachedAt[c.host][n.chunk] == missing:
		e.Missing++
		w.known = append(w.known, at)
	default:
		e.Cached++
		w.known = append(w.known, at|lineOf) // Instead of the whole node.
		for i := range n.children {
			s.descend(c, n.first+n.children-1-i, e)
		}
	}
}

// estimate descends from the root to find what a search would read. The walk
// can then be posted.
func (s *sim) estimate(c *call) (e policy.Estimate, work float64) {
	w := &c.walk
	w.known, w.repair = w.known[:0], w.repair[:0]
	w.left = int(c.search.nodes)
	s.descend(c, 0, &e)
	e.Bytes = (e.Leaves-e.Heads+e.Missing)*s.cl.Tree.BlockBytes + e.Heads*s.headBytes() + e.Cached*rstar.LineBytes
	return e, s.cl.Client.CachedNs * float64(e.Cached)
}

// cachedWalk begins a walk at the nodes that estimate found; some walks read
// the slab's header too.
func (s *sim) cachedWalk(c *call) float64 {
	w, cl := &c.walk, &s.clients[c.client]
	c.phase = reading
	w.here, w.posts, w.restart, w.from = w.here[:0], w.posts[:0], false, s.now
	w.restarts, w.reads, w.bytes, w.more, w.since = 0, 0, 0, false, cl.knows
	if cl.walks%remote.HeaderEvery == 0 {
		w.known = append(w.known, header)
		w.left++
	}
	cl.walks++
	w.missed = slices.ContainsFunc(w.known, func(at uint16) bool {
		return at != header && at&lineOf == 0 && !s.node(c, at).leaf
	})
	return s.issue(c)
}

// headBytes is the size of a leaf's heads.
func (s *sim) headBytes() int { return rstar.HeadBytes(s.w.Spec.NodeBytes) }

// heads distinguishes a read of a leaf's heads from one of a cached node's line.
func (s *sim) heads(c *call, at uint16) bool {
	return at != header && at&lineOf != 0 && s.node(c, at&^lineOf).leaf
}

// headsCame takes the heads of a leaf, and queues a read of the whole leaf if
// they do not rule it out.
func (s *sim) headsCame(c *call, at uint16) float64 {
	if s.node(c, at&^lineOf).more {
		c.walk.more = true
		c.walk.left++
		c.walk.known = append(c.walk.known, at&^lineOf)
	}
	return s.cl.Client.CompletionNs + s.cl.Client.NodeNs
}

// checked takes a line that arrived: the node is read again if it changed.
func (s *sim) checked(w *walk, at uint16) float64 {
	if slices.Contains(w.repair, at&^lineOf) {
		s.n.repairs++
		w.left++
		w.known = append(w.known, at&^lineOf)
	}
	return s.cl.Client.LineNs
}

// store caches an internal node that a walk has read, in its state of the
// walk's begin at the latest, and descends below it unless it is a repair.
func (s *sim) store(c *call, at uint16) float64 {
	w, n := &c.walk, s.node(c, at)
	cachedAt := &s.machines[c.machine].cachedAt[c.host][n.chunk]
	*cachedAt = max(*cachedAt, w.from)
	if slices.Contains(w.repair, at) {
		return 0
	}
	var e policy.Estimate
	for i := range n.children {
		s.descend(c, n.first+n.children-1-i, &e)
	}
	return s.cl.Client.CachedNs * float64(e.Cached)
}

// stateOfLine is what a read of a cached node's line finds.
func (s *sim) stateOfLine(c *call, at uint16) kind {
	chunk := s.node(c, at&^lineOf).chunk
	if k := s.writer.state(s, chunk, 1<<62); k != evBlock {
		return k // It is being written.
	}
	if s.writer.changedAt[chunk] > s.machines[c.machine].cachedAt[c.host][chunk] {
		return evStale
	}
	return evBlock
}
