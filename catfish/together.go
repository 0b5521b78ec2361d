package catfish

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// together makes searches of one tree together, so that their waits for
// memory overlap: those of a searchMany, and those that a worker finds
// ready at the same time.
type together struct {
	rects []rstar.Rect
	out   []byte // items of all that are answered
	ends  []int  // of each one's items in out
	yield func(query int, r rstar.Rect, id uint64) bool
}

// run makes the searches of m.rects, and returns how many are answered: as
// many as fit into manyBytes, at least the first.
func (m *together) run(t *rstar.Tree) int {
	if m.yield == nil {
		m.yield = m.take // once: a closure for each run would be garbage
	}
	m.out, m.ends = m.out[:0], m.ends[:0]
	t.SearchMany(m.rects, m.yield)
	if len(m.ends) > 0 && len(m.out) > manyBytes {
		return len(m.ends) // take stopped it
	}
	m.endUpTo(len(m.rects))
	return len(m.rects)
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

// answer appends the answer to a searchMany of the rectangles in p.
func (m *together) answer(t *rstar.Tree, p, out []byte) ([]byte, error) {
	m.rects = m.rects[:0]
	for i := 0; len(p) > 0; i, p = i+1, p[rectBytes:] {
		q := getRect(p)
		if err := q.Validate(); err != nil {
			return out, fmt.Errorf("search %d: %w", i, err)
		}
		m.rects = append(m.rects, q)
	}
	n := m.run(t)
	for i := range m.rects {
		count := uint32(unanswered)
		if i < n {
			count = uint32(len(m.items(i)) / itemBytes)
		}
		out = binary.LittleEndian.AppendUint32(out, count)
	}
	return append(out, m.out[:m.ends[n-1]]...), nil
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
	m := &h.many
	m.rects = m.rects[:0]
	coll := binary.LittleEndian.Uint32(reqs[0].Payload)
	for _, r := range reqs {
		q := getRect(r.Payload[headBytes:])
		if binary.LittleEndian.Uint32(r.Payload) != coll || q.Validate() != nil {
			break
		}
		m.rects = append(m.rects, q)
	}
	c, err := h.s.colls.byNumber(coll)
	if err != nil || len(m.rects) < 2 {
		h.Serve(reqs[0].Conn, reqs[0].Message)
		return 1
	}
	if cap(m.out) > keepBytes {
		m.out = nil
	}
	n := m.run(c.tree)
	for i, r := range reqs[:n] {
		if h.s.rec != nil {
			h.client = r.Conn.Context.(*peer).client
			h.record(c.num, kindSearch, 0, r.Payload[headBytes:], m.items(i), 0, nil)
		}
		r.Conn.Respond(kindReply, r.ID, m.items(i))
	}
	return n
}
