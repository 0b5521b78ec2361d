package places

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// Rings from ways
//
// The outline of a multipolygon is given as ways in any order and direction.
// They are taken apart into segments from node to node. A segment that occurs
// twice is inside the area (two parts touch along it); both copies are dropped.
// The rest are rings if every node has an even number of segments; otherwise the
// outline is open.
//
// A walk follows unused segments from any node. It never gets stuck, except
// where it began: each node that it enters by one segment has another one.
// Whenever it meets a node of its own path, the part from there on is a ring,
// is cut off, and the walk continues from that node. So no ring passes a node
// twice, and each segment is in one ring: linear work, after sorting. Where
// more than two segments meet, the walk takes the next one, counted
// counterclockwise from the one by which it came: then rings that touch there
// do not cross.

// half is a segment as seen from one of its ends.
type half struct {
	from, to int64
	segment  int32
}

type segment struct{ a, b int64 } // a < b

// ringMaker reuses its memory for the next relation.
type ringMaker struct {
	segments []segment
	halves   []half // sorted by from
	used     []bool
	path     []int64
	at       map[int64]int // index in path
}

// add adds the nodes of a way.
func (m *ringMaker) add(nodes []int64) {
	for i := 1; i < len(nodes); i++ {
		if a, b := nodes[i-1], nodes[i]; a != b {
			m.segments = append(m.segments, segment{min(a, b), max(a, b)})
		}
	}
}

// rings returns closed rings of the added ways, each as its nodes, with the
// first one again at the end. ok is false if the outline is open. find returns
// the position of a node, which every node must have.
func (m *ringMaker) rings(find func(int64) orb.Point) (rings [][]int64, ok bool) {
	defer m.reset()
	m.cancel()
	if !m.link() {
		return nil, false
	}
	for i, s := range m.segments {
		if !m.used[i] {
			rings = m.walk(rings, s.a, find)
		}
	}
	return rings, true
}

func (m *ringMaker) reset() {
	m.segments, m.halves, m.path = m.segments[:0], m.halves[:0], m.path[:0]
	clear(m.at)
}

// cancel sorts the segments, and drops pairs of equal ones.
func (m *ringMaker) cancel() {
	slices.SortFunc(m.segments, func(s, t segment) int {
		return cmp.Or(cmp.Compare(s.a, t.a), cmp.Compare(s.b, t.b))
	})
	kept := m.segments[:0]
	for _, s := range m.segments {
		if n := len(kept); n > 0 && kept[n-1] == s {
			kept = kept[:n-1]
		} else {
			kept = append(kept, s)
		}
	}
	m.segments = kept
}

// link makes the halves, and reports whether each node has an even number.
func (m *ringMaker) link() bool {
	for i, s := range m.segments {
		m.halves = append(m.halves, half{s.a, s.b, int32(i)}, half{s.b, s.a, int32(i)})
	}
	slices.SortFunc(m.halves, func(g, h half) int {
		return cmp.Or(cmp.Compare(g.from, h.from), cmp.Compare(g.to, h.to))
	})
	m.used = append(m.used[:0], make([]bool, len(m.segments))...)
	for i := 0; i < len(m.halves); {
		n := len(m.around(i))
		if n%2 != 0 {
			return false
		}
		i += n
	}
	return true
}

// around returns the halves from one node, of which the first is i.
func (m *ringMaker) around(i int) []half {
	j := i
	for j < len(m.halves) && m.halves[j].from == m.halves[i].from {
		j++
	}
	return m.halves[i:j]
}

// walk appends the rings that it finds from a node on, until it is back there
// and no segment is left.
func (m *ringMaker) walk(rings [][]int64, start int64, find func(int64) orb.Point) [][]int64 {
	if m.at == nil {
		m.at = make(map[int64]int)
	}
	m.path = append(m.path[:0], start)
	m.at[start] = 0
	before, node := start, start
	for {
		h, ok := m.next(before, node, find)
		if !ok {
			delete(m.at, start)
			return rings
		}
		m.used[h.segment] = true
		before, node = node, h.to
		i, met := m.at[node]
		if !met {
			m.at[node] = len(m.path)
			m.path = append(m.path, node)
			continue
		}
		rings = append(rings, append(slices.Clone(m.path[i:]), node))
		for _, passed := range m.path[i+1:] {
			delete(m.at, passed)
		}
		m.path = m.path[:i+1]
	}
}

// next returns the unused half by which to continue from node, which was entered
// from before.
func (m *ringMaker) next(before, node int64, find func(int64) orb.Point) (best half, ok bool) {
	i, _ := slices.BinarySearchFunc(m.halves, node, func(h half, node int64) int {
		return cmp.Compare(h.from, node)
	})
	around := m.around(i)
	if len(around) == 2 || before == node {
		for _, h := range around {
			if !m.used[h.segment] {
				return h, true
			}
		}
		return best, false
	}
	here := find(node)
	direction := func(to int64) float64 {
		p := find(to)
		return math.Atan2(p[1]-here[1], p[0]-here[0])
	}
	back := direction(before)
	least := math.Inf(1)
	for _, h := range around {
		if m.used[h.segment] {
			continue
		}
		turn := direction(h.to) - back
		if turn <= 0 {
			turn += 2 * math.Pi
		}
		if turn < least {
			best, least, ok = h, turn, true
		}
	}
	return best, ok
}
