package catfish

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// searchBatch makes searches of one tree together, so that their waits for
// memory overlap: those of a searchMany, and those that a worker finds
// ready at the same time.
type searchBatch struct {
	out   []byte // items of all that are answered
	ends  []int  // of each one's items in out
	yield func(query int, r rstar.Rect, id uint64) bool
}

// run makes searches, and returns how many are answered: as many as fit into
// manyBytes, at least the first.
func (b *searchBatch) run(t *rstar.Tree, rects []rstar.Rect) int {
	if b.yield == nil {
		b.yield = b.take // once: a closure for each run would be garbage
	}
	b.out, b.ends = b.out[:0], b.ends[:0]
	t.SearchMany(rects, b.yield)
	if len(b.ends) > 0 && len(b.out) > manyBytes {
		return len(b.ends) // take stopped it
	}
	b.endUpTo(len(rects))
	return len(rects)
}

// take is given the results in the order of the searches.
func (b *searchBatch) take(query int, r rstar.Rect, id uint64) bool {
	b.endUpTo(query)
	b.out = appendItem(b.out, rstar.Item{Rect: r, ID: id})
	return query == 0 || len(b.out) <= manyBytes
}

func (b *searchBatch) endUpTo(n int) {
	for len(b.ends) < n {
		b.ends = append(b.ends, len(b.out))
	}
}

// items are those of answer i.
func (b *searchBatch) items(i int) []byte {
	if i == 0 {
		return b.out[:b.ends[0]]
	}
	return b.out[b.ends[i-1]:b.ends[i]]
}

// appendAnswer appends the answer to a searchMany of all searches, of which
// run has answered n.
func (b *searchBatch) appendAnswer(out []byte, all, n int) []byte {
	for i := range all {
		count := uint32(unanswered)
		if i < n {
			count = uint32(len(b.items(i)) / itemBytes)
		}
		out = binary.LittleEndian.AppendUint32(out, count)
	}
	return append(out, b.out[:b.ends[n-1]]...)
}

// Batches accepts searches for all that intersects. One with a limit would
// be made in full.
func (h *handler) Batches(m fastmsg.Message) bool {
	return m.Kind == kindSearch && len(m.Payload) == headBytes+rectBytes &&
		binary.LittleEndian.Uint32(m.Payload[4:]) == 0
}

// ServeBatch makes the searches together that are of one collection, up to
// the first one that is not, or is malformed and thus answered alone.
func (h *handler) ServeBatch(reqs []fastmsg.Request) int {
	var one request
	var coll *collection
	rects := h.req.rects[:0]
	for i, r := range reqs {
		if h.s.decode(r.Kind, r.Payload, &one) != nil || i > 0 && one.coll != coll {
			break
		}
		coll = one.coll
		rects = append(rects, one.rect)
	}
	h.req.rects = rects
	if len(rects) < 2 {
		h.Serve(reqs[0].Conn, reqs[0].Message)
		return 1
	}
	if cap(h.batch.out) > keepBytes {
		h.batch.out = nil
	}
	n := h.batch.run(coll.tree, rects)
	one = request{kind: kindSearch, coll: coll}
	for i, r := range reqs[:n] {
		one.rect = rects[i]
		h.serves(r.Conn)
		h.record(&one, h.batch.items(i), 0, nil)
		r.Conn.Respond(kindReply, r.ID, h.batch.items(i))
	}
	return n
}
