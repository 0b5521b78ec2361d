package catfish

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// together makes searches of one tree together, so that their waits for
// memory overlap: those of a searchMany, and those that a worker finds
// ready at the same time.
type together struct {
	out   []byte // items of all that are answered
	ends  []int  // of each one's items in out
	yield func(query int, r rstar.Rect, id uint64) bool
}

// run makes searches, and returns how many are answered: as many as fit into
// manyBytes, at least the first.
func (m *together) run(t *rstar.Tree, rects []rstar.Rect) int {
	if m.yield == nil {
		m.yield = m.take // once: a closure for each run would be garbage
	}
	m.out, m.ends = m.out[:0], m.ends[:0]
	t.SearchMany(rects, m.yield)
	if len(m.ends) > 0 && len(m.out) > manyBytes {
		return len(m.ends) // take stopped it
	}
	m.endUpTo(len(rects))
	return len(rects)
}

// take is given the results in the order of the searches.
func (m *together) take(query int, r rstar.Rect, id uint64) bool {
	m.endUpTo(query)
	m.out = appendItem(m.out, rstar.Item{Rect: r, ID: id})
	return query == 0 || len(m.out) <= manyBytes
}

func (m *together) endUpTo(n int) {
	for len(m.ends) < n {
		m.ends = append(m.ends, len(m.out))
	}
}

// items are those of answer i.
func (m *together) items(i int) []byte {
	if i == 0 {
		return m.out[:m.ends[0]]
	}
	return m.out[m.ends[i-1]:m.ends[i]]
}

// appendAnswer appends the answer to a searchMany of all searches, of which
// run has answered n.
func (m *together) appendAnswer(out []byte, all, n int) []byte {
	for i := range all {
		count := uint32(unanswered)
		if i < n {
			count = uint32(len(m.items(i)) / itemBytes)
		}
		out = binary.LittleEndian.AppendUint32(out, count)
	}
	return append(out, m.out[:m.ends[n-1]]...)
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
	if cap(h.many.out) > keepBytes {
		h.many.out = nil
	}
	n := h.many.run(coll.tree, rects)
	one = request{kind: kindSearch, coll: coll}
	for i, r := range reqs[:n] {
		one.rect = rects[i]
		h.serves(r.Conn)
		h.record(&one, h.many.items(i), 0, nil)
		r.Conn.Respond(kindReply, r.ID, h.many.items(i))
	}
	return n
}
