package btree

import (
	"context"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/offload"
)

// Walk is the offload.Traversal of a range read: all that package offload needs to know of
// B+-trees.
type Walk struct {
	chunks uint32
	todo   []task
	under  []task // being read; a read's tag is its place here
	free   []uint64
	visits int
	items  []Item
	n      node
}

// NewWalk makes a Walk over a slab of chunks nodes. Reset comes first.
func NewWalk(chunks uint32) *Walk { return &Walk{chunks: chunks} }

// Reset gives the Walk an interval to read, both ends included.
func (w *Walk) Reset(from, to uint64) {
	w.todo, w.under, w.free, w.items, w.visits = w.todo[:0], w.under[:0], w.free[:0], w.items[:0], 0
	if from <= to {
		w.todo = append(w.todo, all(from, to))
	}
}

// Next implements offload.Traversal.
func (w *Walk) Next() (offload.Ref, bool, error) {
	if len(w.todo) == 0 {
		return offload.Ref{}, false, nil
	}
	t := w.todo[len(w.todo)-1]
	w.todo = w.todo[:len(w.todo)-1]
	tag := uint64(len(w.under))
	if last := len(w.free) - 1; last >= 0 {
		tag, w.free = w.free[last], w.free[:last]
		w.under[tag] = t
	} else {
		w.under = append(w.under, t)
	}
	return offload.Ref{Offset: uint64(t.chunk) * NodeBytes, Len: NodeBytes, Read: offload.Read{Hop: t.hop}, Tag: tag}, true, nil
}

// Visit implements offload.Traversal.
func (w *Walk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	t := w.under[ref.Tag]
	err := w.n.parse(b, t.chunk, int(t.level), w.chunks)
	if errors.Is(err, ErrTorn) {
		return offload.Retry, nil
	}
	if err != nil {
		return offload.Accept, err
	}
	// No loop of references in wrong memory keeps a walk. A reader that meets splits comes to
	// few nodes twice: from the parent and from the left.
	if w.visits++; w.visits > 2*int(w.chunks) {
		return offload.Accept, fmt.Errorf("%w: a walk of %d nodes, the slab has %d", ErrCorrupt, w.visits, w.chunks)
	}
	w.free = append(w.free, ref.Tag)
	w.todo, w.items, err = w.n.follow(t, w.todo, w.items)
	return offload.Accept, err
}

// Items are the answer, in the order of keys. They are good until the next Reset.
func (w *Walk) Items() []Item {
	inOrder(w.items)
	return w.items
}

// Reader reads a tree over a read channel, for one goroutine at a time.
type Reader struct {
	channel *offload.Channel
	slab    [1]rdma.Remote
	walk    *Walk
}

// NewReader makes a Reader of the slab at base, over a channel that stays the caller's.
func NewReader(ch *offload.Channel, base rdma.Remote, chunks uint32) *Reader {
	return &Reader{channel: ch, slab: [1]rdma.Remote{base}, walk: NewWalk(chunks)}
}

// Scan is Tree.Scan from afar; it adds what it cost to st.
func (r *Reader) Scan(ctx context.Context, from, to uint64, dst []Item, st *offload.Stats) ([]Item, error) {
	r.walk.Reset(from, to)
	if err := r.channel.Run(ctx, r.slab[:], r.walk, st); err != nil {
		return dst, err
	}
	return append(dst, r.walk.Items()...), nil
}
