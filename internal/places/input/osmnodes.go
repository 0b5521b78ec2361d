package input

import (
	"cmp"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// osmNode is the position of a node, in units of 1e-7 degrees, the precision of
// OpenStreetMap's database.
type osmNode struct {
	id       int64
	lon, lat int32
}

const (
	osmNodeBytes  = 16
	perDegree     = 1e7
	firstNodes    = 1 << 10 // capacity of the first chunk: for a small file
	nodesPerChunk = 1 << 16
)

// OSMNodes are the positions of nodes, in chunks, so that growing does not copy
// all of them. Once sorted by id they can be searched.
type OSMNodes struct {
	chunks   [][]osmNode
	last     int64
	unsorted bool
}

// Add adds a node, within the budget.
func (l *OSMNodes) Add(id int64, lon, lat float64, memory *Budget) error {
	n := len(l.chunks) - 1
	if n < 0 || len(l.chunks[n]) == cap(l.chunks[n]) {
		size := firstNodes
		if n >= 0 {
			size = min(2*cap(l.chunks[n]), nodesPerChunk)
		}
		if err := memory.Keep(osmNodeBytes*int64(size), "the positions of nodes"); err != nil {
			return err
		}
		l.chunks = append(l.chunks, make([]osmNode, 0, size))
		n++
	}
	l.unsorted = l.unsorted || n+len(l.chunks[n]) > 0 && id < l.last
	l.last = id
	l.chunks[n] = append(l.chunks[n], osmNode{id,
		int32(math.Round(lon * perDegree)), int32(math.Round(lat * perDegree))})
	return nil
}

// Sort makes Find work for all added nodes. Nodes that are not in the order of
// their ids, which is rare, are copied and sorted.
func (l *OSMNodes) Sort(memory *Budget) error {
	if !l.unsorted {
		return nil
	}
	n := 0
	for _, c := range l.chunks {
		n += len(c)
	}
	if err := memory.Keep(osmNodeBytes*int64(n), "nodes that are not sorted by id"); err != nil {
		return err
	}
	all := slices.Concat(l.chunks...)
	slices.SortStableFunc(all, func(a, b osmNode) int { return cmp.Compare(a.id, b.id) })
	l.chunks, l.unsorted, l.last = [][]osmNode{all}, false, all[n-1].id
	return nil
}

// Find returns the position of the first node with this id.
func (l *OSMNodes) Find(id int64) (orb.Point, bool) {
	i, _ := slices.BinarySearchFunc(l.chunks, id, func(c []osmNode, id int64) int {
		return cmp.Compare(c[len(c)-1].id, id)
	})
	if i == len(l.chunks) {
		return orb.Point{}, false
	}
	c := l.chunks[i]
	j, ok := slices.BinarySearchFunc(c, id, func(n osmNode, id int64) int {
		return cmp.Compare(n.id, id)
	})
	if !ok {
		return orb.Point{}, false
	}
	return orb.Point{float64(c[j].lon) / perDegree, float64(c[j].lat) / perDegree}, true
}
