package places

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/catfish-index/catfish/internal/places/input"
)

// osmWays are the nodes of ways, which relations look up by the way's id. A
// way is a list of differences from node to node as varints, some 2 bytes a
// node, because most neighbours were drawn in sequence.
//
//	+-----------+---------+---------+---------+--
//	| n nodes   | first   | delta   | delta   | ...
//	| (uvarint) | (varint)| (varint)| (varint)|
//	+-----------+---------+---------+---------+--
type osmWays struct {
	chunks   [][]byte
	index    []wayPlace
	charged  int // entries of the index that memory was reserved for
	unsorted bool
}

type wayPlace struct {
	id            int64
	chunk, offset int32
}

const (
	wayPlaceBytes = 16
	wayChunk      = 1 << 20
	firstWays     = 1 << 10 // for a small file
)

func (l *osmWays) add(id int64, nodes []int64, memory *input.Budget) error {
	most := binary.MaxVarintLen64 * (len(nodes) + 1)
	n := len(l.chunks) - 1
	if n < 0 || cap(l.chunks[n])-len(l.chunks[n]) < most {
		size := max(wayChunk, most)
		if err := memory.Keep(int64(size), "the nodes of ways"); err != nil {
			return err
		}
		l.chunks = append(l.chunks, make([]byte, 0, size))
		n++
	}
	if len(l.index) == l.charged {
		// The slice at most doubles, and growing copies from its old half.
		more := max(l.charged, firstWays)
		if err := memory.Keep(wayPlaceBytes*int64(2*more), "the ids of ways"); err != nil {
			return err
		}
		l.charged += more
		l.index = slices.Grow(l.index, more)
	}
	if last := len(l.index) - 1; last >= 0 && l.index[last].id > id {
		l.unsorted = true
	}
	b := l.chunks[n]
	l.index = append(l.index, wayPlace{id, int32(n), int32(len(b))})
	b = binary.AppendUvarint(b, uint64(len(nodes)))
	before := int64(0)
	for _, node := range nodes {
		b = binary.AppendVarint(b, node-before)
		before = node
	}
	l.chunks[n] = b
	return nil
}

// appendNodes appends the nodes of the way with this id.
func (l *osmWays) appendNodes(dst []int64, id int64) (nodes []int64, ok bool) {
	if l.unsorted {
		slices.SortStableFunc(l.index, func(a, b wayPlace) int { return cmp.Compare(a.id, b.id) })
		l.unsorted = false
	}
	i, ok := slices.BinarySearchFunc(l.index, id, func(w wayPlace, id int64) int {
		return cmp.Compare(w.id, id)
	})
	if !ok {
		return dst, false
	}
	b := l.chunks[l.index[i].chunk][l.index[i].offset:]
	n, size := binary.Uvarint(b) // written by add
	b = b[size:]
	node := int64(0)
	for range n {
		delta, size := binary.Varint(b)
		b = b[size:]
		node += delta
		dst = append(dst, node)
	}
	return dst, true
}
