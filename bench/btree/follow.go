package btree

import "fmt"

// task is an interval of keys to look for in a node, or to the right of it.
type task struct {
	from, to uint64 // both included
	chunk    uint32
	level    int16 // of the node, -1: any, for the root
	hop      uint16
}

// all is the task to look for an interval in the whole tree.
func all(from, to uint64) task { return task{from: from, to: to, chunk: rootChunk, level: -1, hop: 1} }

// follow is one step of a search: it appends what a node answers to items, and to todo the
// tasks that are left for other nodes. The tasks of a search never overlap.
func (n *node) follow(t task, todo []task, items []Item) ([]task, []Item, error) {
	if t.from < n.low {
		return todo, items, fmt.Errorf("%w: chunk %d covers keys from %d, and a reference leads there for %d", ErrCorrupt, n.chunk, n.low, t.from)
	}
	if t.to > n.last { // The node was split after its parent was read.
		right := task{from: max(t.from, n.last+1), to: t.to, chunk: n.right, level: int16(n.level), hop: t.hop + 1}
		if todo = append(todo, right); t.from > n.last {
			return todo, items, nil
		}
		t.to = n.last
	}
	if n.level == 0 {
		for i := n.find(t.from); i < n.count && n.entries[i].Key <= t.to; i++ {
			items = append(items, n.entries[i])
		}
		return todo, items, nil
	}
	for i := n.child(t.from); i < n.count && n.entries[i].Key <= t.to; i++ {
		down := task{from: max(t.from, n.entries[i].Key), to: t.to, chunk: uint32(n.entries[i].Value), level: int16(n.level - 1), hop: t.hop + 1}
		if i+1 < n.count {
			down.to = min(t.to, n.entries[i+1].Key-1)
		}
		todo = append(todo, down)
	}
	return todo, items, nil
}
