package server

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
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

func (b *findBatch) run(h *handler, reqs []fastmsg.Request) (int, *task) {
	c, err := h.s.store.ByNumber(binary.LittleEndian.Uint32(reqs[0].Payload))
	if err != nil || c.Features == nil {
		return 0, nil
	}
	b.boxes = b.boxes[:0]
	for i := range reqs {
		b.boxes = append(b.boxes, wire.GetBoxFind(reqs[i].Payload))
	}
	return b.search(h.s, c), nil
}

// search makes the searches in boxes, and returns how many are answered: as many as
// look at soonFeatures, and fit into ManyBytes.
func (b *findBatch) search(s *Server, c *collection) (answered int) {
	if b.yield == nil {
		b.yield = b.take // once, since a method value allocates
	}
	b.out, b.begins = b.out[:0], b.begins[:0]
	n := c.Features.SearchTogether(s.ctx, b.boxes, soonFeatures, &b.batch, b.yield)
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

func (b *findBatch) answer(_ *handler, _ *peer, i int) []byte {
	return b.out[b.begins[i]:b.begins[i+1]]
}
