package server

import (
	"encoding/binary"
	"time"

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
}

// manyNodes is how many nodes the searches of a batch may visit together. As
// their waits for memory overlap, these visits take 0.1 to 0.2 ms. 256 small
// searches visit some 1,300 nodes.
const manyNodes = 4096

// run makes searches, and returns how many are answered: as many as fit into
// manyBytes and manyNodes. If rest is not nil, it is the next search, which
// takes long even alone.
func (b *searchBatch) run(t *rstar.Tree, rects []rstar.Rect) (answered int, rest *rstar.Scan) {
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
// searches, of which run has answered n.
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

// Batches accepts gets of one key, searches of features by a box, and searches
// without a limit: rstar.Tree.SearchMany has none.
func (h *handler) Batches(m fastmsg.Message) bool {
	return isGet(&m) || wire.IsBoxFind(&m) || m.Kind == wire.KindSearch && len(m.Payload) == wire.HeadBytes+wire.RectBytes &&
		binary.LittleEndian.Uint32(m.Payload[4:]) == 0
}

// ServeBatch makes the first searches together, up to one of another
// collection or a malformed one, which begins the next batch or is served
// alone.
func (h *handler) ServeBatch(reqs []fastmsg.Request) int {
	switch reqs[0].Kind {
	case wire.KindGet:
		return h.serveGets(reqs)
	case wire.KindFind:
		return h.serveFinds(reqs)
	}
	var one request
	var coll *collection
	rects := h.req.rects[:0]
	for i, r := range reqs {
		if h.s.access != nil && !r.Conn.Context.(*peer).guard.mayBatch(h.s, r.Kind, r.Payload) {
			break
		}
		if r.Kind != wire.KindSearch || h.s.decode(r.Kind, r.Payload, &one) != nil || i > 0 && one.coll != coll {
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
	var began time.Time
	if h.meter != nil {
		began = time.Now()
	}
	n, rest := h.batch.run(coll.tree, rects)
	if coll.gone() != nil {
		if rest != nil {
			rest.Close()
		}
		h.Serve(reqs[0].Conn, reqs[0].Message)
		return 1
	}
	if h.meter != nil && n > 0 {
		h.meter.observe(wire.KindSearch, n, time.Since(began), false)
	}
	one = request{kind: wire.KindSearch, coll: coll}
	for i, r := range reqs[:n] {
		one.rect = rects[i]
		h.serves(r.Conn)
		h.record(&one, h.batch.items(i), 0, nil)
		r.Conn.Respond(wire.KindReply, r.ID, h.batch.items(i))
	}
	if rest != nil {
		one.rect = rects[n]
		h.begins(reqs[n].Conn, reqs[n].ID, &long{req: one, scan: rest})
		n++
	}
	return n
}
