package server

import (
	"encoding/binary"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
)

// findBatch makes finds together that a worker finds in the same turn
// (store.Collection.SearchTogether): finds by a box, with no other parameter than a limit.
// Others are longer than fastmsg.BatchPayload, or take longer, and are served one by one,
// as is a find without an answer here: findFeatures reports how it fails.
type findBatch struct {
	boxes  []store.BoxSearch
	batch  store.Batch
	out    []byte // answers
	begins []int  // where in out each of them begins
	yield  func(query int, f *store.Found) bool
}

// run makes the searches in boxes, and returns how many are answered: as many as
// look at soonFeatures, and fit into manyBytes.
func (b *findBatch) run(s *Server, c *collection) (answered int) {
	if b.yield == nil {
		b.yield = b.take // once, since a method value allocates
	}
	b.out, b.begins = b.out[:0], b.begins[:0]
	n := c.features.SearchTogether(s.ctx, b.boxes, soonFeatures, &b.batch, b.yield)
	b.beginUpTo(n) // It ends the last answer.
	return n
}

// take receives the results, in the order of the searches.
func (b *findBatch) take(query int, f *store.Found) bool {
	b.beginUpTo(query)
	b.out = wire.AppendFeature(b.out, f)
	return len(b.out) <= wire.ManyBytes
}

// beginUpTo begins the answers of the searches before query, and that of query. Each
// begins with a 0: all its features are in it.
func (b *findBatch) beginUpTo(query int) {
	for len(b.begins) <= query {
		b.begins = append(b.begins, len(b.out))
		b.out = append(b.out, 0)
	}
}

// answer is that of search i.
func (b *findBatch) answer(i int) []byte { return b.out[b.begins[i]:b.begins[i+1]] }

// serveFinds makes the first searches together, up to a find in another collection or
// any other request.
func (h *handler) serveFinds(reqs []fastmsg.Request) int {
	b := &h.finds
	var began time.Time
	if h.meter != nil {
		began = time.Now()
	}
	b.boxes = b.boxes[:0]
	num := binary.LittleEndian.Uint32(reqs[0].Payload)
	c, err := h.s.colls.byNumber(num)
	for i := 0; i < len(reqs) && err == nil && c.features != nil; i++ {
		p := reqs[i].Payload
		if h.s.access != nil && !reqs[i].Conn.Context.(*peer).guard.mayBatch(h.s, reqs[i].Kind, p) {
			break
		}
		if !wire.IsBoxFind(&reqs[i].Message) || binary.LittleEndian.Uint32(p) != num {
			break
		}
		b.boxes = append(b.boxes, wire.GetBoxFind(p))
	}
	n := 0
	if len(b.boxes) > 1 {
		n = b.run(h.s, c)
	}
	if n == 0 {
		h.Serve(reqs[0].Conn, reqs[0].Message)
		return 1
	}
	for i, r := range reqs[:n] {
		h.serves(r.Conn)
		r.Conn.Respond(wire.KindReply, r.ID, b.answer(i))
	}
	if h.meter != nil {
		h.meter.observe(wire.KindFind, n, time.Since(began), false)
	}
	h.trim()
	return n
}
