package server

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// searchBatch makes searches of one tree together, so that their waits for
// memory overlap: the searches of a searchMany, or the searches that a worker
// finds in one turn.
type searchBatch struct {
	out   []byte // items of all searches that are answered
	ends  []int  // where in out the items of each search end
	yield func(query int, r rstar.Rect, id uint64) bool

	// Of a worker's searches.
	rects []rstar.Rect
	req   request
}

// manyNodes is how many nodes the searches of a batch may visit together. As
// their waits for memory overlap, these visits take 0.1 to 0.2 ms. 256 small
// searches visit some 1,300 nodes.
const manyNodes = 4096

// search makes searches, and returns how many are answered: as many as fit into
// wire.ManyBytes and manyNodes. If rest is not nil, it is the next search, which
// takes long even alone.
func (b *searchBatch) search(t *rstar.Tree, rects []rstar.Rect) (answered int, rest *rstar.Scan) {
	if b.yield == nil {
		b.yield = b.take // once, since a method value allocates
	}
	b.out, b.ends = b.out[:0], b.ends[:0]
	n, rest := t.SearchManySome(rects, manyNodes, b.yield)
	b.endUpTo(n)
	return n, rest
}

// take receives the results, in the order of the searches.
func (b *searchBatch) take(query int, r rstar.Rect, id uint64) bool {
	b.endUpTo(query)
	b.out = wire.AppendItem(b.out, rstar.Item{Rect: r, ID: id})
	return query == 0 || len(b.out) <= wire.ManyBytes
}

func (b *searchBatch) endUpTo(n int) {
	for len(b.ends) < n {
		b.ends = append(b.ends, len(b.out))
	}
}

// items returns the items that search i found.
func (b *searchBatch) items(i int) []byte {
	if i == 0 {
		return b.out[:b.ends[0]]
	}
	return b.out[b.ends[i-1]:b.ends[i]]
}

// appendAnswer appends the answer to a searchMany. all is the number of its
// searches, of which search has answered n.
func (b *searchBatch) appendAnswer(out []byte, all, n int) []byte {
	for i := range all {
		count := uint32(wire.Unanswered)
		if i < n {
			count = uint32(len(b.items(i)) / wire.ItemBytes)
		}
		out = binary.LittleEndian.AppendUint32(out, count)
	}
	return append(out, b.out[:b.ends[n-1]]...)
}

func (b *searchBatch) run(h *handler, reqs []fastmsg.Request) (n int, next *task) {
	b.rects = b.rects[:0]
	for i := 0; i < len(reqs) && h.s.decode(reqs[i].Kind, reqs[i].Payload, &b.req) == nil; i++ {
		b.rects = append(b.rects, b.req.rect)
	}
	if len(b.rects) == 0 {
		return 0, nil
	}
	n, rest := b.search(b.req.coll.Tree, b.rects)
	if b.req.coll.Gone() != nil {
		if rest != nil {
			rest.Close()
		}
		return 0, nil
	}
	if rest != nil {
		b.req.rect = b.rects[n]
		next = h.newScan(reqs[n].Conn.Context.(*peer), &b.req, rest)
	}
	return n, next
}

func (b *searchBatch) answer(h *handler, from *peer, i int) []byte {
	b.req.rect = b.rects[i]
	h.as(from).record(&b.req, b.items(i), 0, nil)
	return b.items(i)
}
