package datasets

import (
	"cmp"
	"slices"
)

type osmNode struct {
	id int64
	at point
}

const (
	osmNodeBytes = 24
	// Nodes are kept in chunks, so that more room needs no copy of all. The
	// first chunk suits a small file.
	minNodeChunk = 1 << 10
	maxNodeChunk = 1 << 16
)

// osmNodes are the positions of nodes, by id once sort was called.
type osmNodes struct {
	chunks   [][]osmNode
	unsorted bool
}

// add appends a node. keep allows its memory.
func (l *osmNodes) add(n osmNode, keep func(bytes int64, what string) error) error {
	last := len(l.chunks) - 1
	if last < 0 || len(l.chunks[last]) == cap(l.chunks[last]) {
		size := minNodeChunk
		if last >= 0 {
			size = min(2*cap(l.chunks[last]), maxNodeChunk)
		}
		if err := keep(osmNodeBytes*int64(size), "the positions of nodes"); err != nil {
			return err
		}
		l.chunks = append(l.chunks, make([]osmNode, 0, size))
		last++
	}
	if before := l.last(); before != nil && before.id > n.id {
		l.unsorted = true
	}
	l.chunks[last] = append(l.chunks[last], n)
	return nil
}

// last returns the node that was added last, nil if there is none.
func (l *osmNodes) last() *osmNode {
	for i := len(l.chunks) - 1; i >= 0; i-- {
		if n := len(l.chunks[i]); n > 0 {
			return &l.chunks[i][n-1]
		}
	}
	return nil
}

// sort prepares find. Nodes that are not in the order of ids, which is rare,
// are copied for it.
func (l *osmNodes) sort(keep func(bytes int64, what string) error) error {
	if !l.unsorted {
		return nil
	}
	bytes := int64(0)
	for _, c := range l.chunks {
		bytes += osmNodeBytes * int64(len(c))
	}
	if err := keep(bytes, "nodes that are not sorted by id"); err != nil {
		return err
	}
	all := slices.Concat(l.chunks...)
	slices.SortStableFunc(all, func(a, b osmNode) int { return cmp.Compare(a.id, b.id) })
	l.chunks, l.unsorted = [][]osmNode{all}, false
	return nil
}

// find returns the position of the first node with this id.
func (l *osmNodes) find(id int64) (point, bool) {
	i, _ := slices.BinarySearchFunc(l.chunks, id, func(c []osmNode, id int64) int {
		return cmp.Compare(c[len(c)-1].id, id)
	})
	if i == len(l.chunks) {
		return point{}, false
	}
	c := l.chunks[i]
	j, ok := slices.BinarySearchFunc(c, id, func(n osmNode, id int64) int {
		return cmp.Compare(n.id, id)
	})
	if !ok {
		return point{}, false
	}
	return c[j].at, true
}
