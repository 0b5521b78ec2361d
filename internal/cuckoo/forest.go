package cuckoo

// The paper's insertion (RHKV, Algorithm 1), for one item a bucket
//
// The cuckoo graph has a vertex for each bucket and an edge for each item,
// from the bucket where it is to its other bucket. So a vertex has one edge
// out, or none if it is vacant: a component with V vertices has at most V
// edges. With V-1 it is a tree, whose edges all lead to its one vacancy; with
// V it is full, and its edges lead into a cycle. Two buckets, an edge between
// them to be added:
//
//	A   neither is in a component: insert
//	B   one is: insert, into the other
//	C1  both, in two trees or in the same: kick along the edges out to the
//	    vacancy, insert
//	C2  one in a tree, one in a full component: the same in the tree
//	C3  both in full ones: there is no room, and nothing is kicked
//
// Components are sets of a union-find with numbers of vertices and of edges.
//
// # Deletions
//
// A set cannot be split. So after deletions a set is a union of components, and only
// its numbers are right. If E = V all its buckets are occupied, so case C3 remains
// exact. But if E < V the vacancy may be in another component than our bucket. So
// before any kick the edges out of the bucket are followed, with Brent's cycle
// detection (R. P. Brent, BIT 20, 1980): a path has one edge out of each vertex, so it
// ends at a vacancy, or it is in a cycle, which costs at most three times the number of
// its vertices. Kicks are only made along a path that ends. No insertion loops,
// whatever the numbers say.
//
// When the numbers say that edges are left but no path ends, the set's components are
// determined again from its items. That costs as much as the set has vertices, so it is
// not done before a quarter as many items were deleted from it: a constant for each
// deletion.

type forest struct {
	t     *table
	nodes []forestNode // by vertex
	path  []spot       // scratch
}

// forestNode is a vertex in the union-find. Vertices, edges and deleted
// belong to roots. The vertices of a set are a ring by next.
type forestNode struct {
	parent, next             uint32
	vertices, edges, deleted uint32
}

func newForest(t *table) *forest {
	f := &forest{t: t}
	f.reset()
	return f
}

func (f *forest) reset() {
	f.nodes = make([]forestNode, f.t.vertices())
	for v := range f.nodes {
		f.single(uint32(v))
	}
}

func (f *forest) single(v uint32) {
	f.nodes[v] = forestNode{parent: v, next: v, vertices: 1}
}

func (f *forest) root(v uint32) uint32 {
	for f.nodes[v].parent != v {
		f.nodes[v].parent = f.nodes[f.nodes[v].parent].parent
		v = f.nodes[v].parent
	}
	return v
}

func (f *forest) ends(hash uint64) (a, b uint32) {
	return uint32(f.t.vertex(hash, 0)), uint32(f.t.vertex(hash, 1))
}

func (f *forest) added(hash uint64) {
	a, b := f.ends(hash)
	f.join(a, b)
}

// join adds an edge.
func (f *forest) join(a, b uint32) {
	a, b = f.root(a), f.root(b)
	if a == b {
		f.nodes[a].edges++
		return
	}
	if f.nodes[a].vertices < f.nodes[b].vertices {
		a, b = b, a
	}
	x, y := &f.nodes[a], &f.nodes[b]
	y.parent = a
	x.next, y.next = y.next, x.next
	x.vertices += y.vertices
	x.edges += y.edges + 1
	x.deleted += y.deleted
}

func (f *forest) removed(hash uint64) {
	a, _ := f.ends(hash)
	r := &f.nodes[f.root(a)]
	r.edges--
	r.deleted++
}

// place implements rule.
func (f *forest) place(hash, ref uint64) bool {
	a, b := f.ends(hash)
	ra, rb := f.root(a), f.root(b)
	fullA, fullB := f.full(ra), f.full(rb)
	f.count(ra, rb, fullA, fullB)
	if fullA && fullB {
		return false
	}
	for _, v := range [2]uint32{a, b} {
		if f.t.vacant(uint64(v)) >= 0 {
			f.t.put(spot{vertex: uint64(v)}, hash, ref)
			f.join(a, b)
			return true
		}
	}
	if !fullA && f.way(a) || !fullB && f.way(b) {
		f.t.kick(f.path, hash, ref)
		f.join(a, b)
		return true
	}
	f.t.stats.Disagreed++
	f.rebuild(ra)
	if rb != ra {
		f.rebuild(rb)
	}
	return false
}

func (f *forest) full(root uint32) bool {
	return f.nodes[root].edges == f.nodes[root].vertices
}

// count counts the paper's cases.
func (f *forest) count(ra, rb uint32, fullA, fullB bool) {
	s := &f.t.stats
	aloneA, aloneB := f.nodes[ra].vertices == 1, f.nodes[rb].vertices == 1
	switch {
	case aloneA && aloneB:
		s.CaseA++
	case aloneA || aloneB:
		s.CaseB++
	case fullA && fullB:
		s.CaseC3++
	case fullA || fullB:
		s.CaseC2++
	default:
		s.CaseC1++
	}
}

// way finds the path from v along the edges out to a vacancy, and leaves it in f.path.
func (f *forest) way(v uint32) bool {
	t := f.t
	f.path = f.path[:0]
	at, mark := uint64(v), uint64(v)
	for steps, power := 0, 1; ; steps++ {
		t.own(at)
		f.path = append(f.path, spot{vertex: at})
		if t.vacant(at) >= 0 {
			return true
		}
		if steps == power { // Brent: a new mark after 1, 2, 4, ... steps
			mark, power, steps = at, 2*power, 0
		}
		at = t.other(at, t.hashAt(spot{vertex: at}))
		if at == mark {
			return false
		}
	}
}

// rebuild determines the components of a set again, if many of its items were deleted.
func (f *forest) rebuild(root uint32) {
	if r := &f.nodes[root]; r.deleted == 0 || uint64(r.deleted)*4 < uint64(r.vertices) {
		return
	}
	f.t.stats.Rebuilt++
	var all []uint32
	for v := root; ; {
		all = append(all, v)
		if v = f.nodes[v].next; v == root {
			break
		}
	}
	for _, v := range all {
		f.single(v)
	}
	for _, v := range all {
		if f.t.vacant(uint64(v)) < 0 {
			f.added(f.t.hashAt(spot{vertex: uint64(v)}))
		}
	}
}
