package server

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Requests that are carried out together
//
// A worker hands over the small requests that it finds in one turn (fastmsg.BatchHandler),
// of all its clients. The first ones that are alike are carried out together, so that
// their waits for memory overlap:
//
//	requests   s1 s1 s1 s2 s2 g3     searches of collections 1 and 2, a get
//	batches    s1 s1 s1 | s2 s2 |    and the get is served alone
//
// A request that a batch cannot answer, such as one that fails, is served alone, which
// says why. So is the only one of its kind: it is neither decoded nor checked twice.

// batch carries out requests of one kind and collection.
type batch interface {
	// run carries out the first of some requests, and returns how many, 0: none of them.
	// next, if not nil, is the task of the request after these.
	run(h *handler, reqs []fastmsg.Request) (n int, next *task)
	// answer returns the answer to request i of these, which a client receives now.
	answer(h *handler, from *peer, i int) []byte
}

// Batches accepts gets of one key, searches of features by a box, and searches
// without a limit: rstar.Tree.SearchMany has none.
func (h *handler) Batches(m fastmsg.Message) bool {
	return isGet(&m) || wire.IsBoxFind(&m) || m.Kind == wire.KindSearch && len(m.Payload) == wire.HeadBytes+wire.RectBytes &&
		binary.LittleEndian.Uint32(m.Payload[4:]) == 0
}

// ServeBatch carries out the first requests that are alike together.
func (h *handler) ServeBatch(reqs []fastmsg.Request) int {
	began := h.meter.now()
	kind, n, next := reqs[0].Kind, 0, (*task)(nil)
	if alike := h.permitted(h.alike(reqs)); len(alike) > 0 {
		var b batch = &h.batch
		switch kind {
		case wire.KindGet:
			b = &h.records.batch
		case wire.KindFind:
			b = &h.finds
		}
		read := h.reading(alike[0].Conn.Context.(*peer), kind)
		if read.moved() == nil {
			n, next = b.run(h, alike)
		}
		if n > 0 && read.Err() != nil { // Served alone, it says why.
			if next != nil {
				next.steps.close()
			}
			n, next = 0, nil
		}
		if next != nil {
			next.read = read
		}
		h.meter.count(kind, n, began, false)
		for i, r := range reqs[:n] {
			r.Conn.Respond(wire.KindReply, r.ID, b.answer(h, h.serves(r.Conn), i))
		}
	}
	switch {
	case next != nil:
		h.begin(reqs[n].Conn, reqs[n].ID, next)
		n++
	case n == 0:
		h.Serve(reqs[0].Conn, reqs[0].Message)
		return 1
	}
	h.trim()
	return n
}

// alike returns the first requests that are of one kind, and of one collection or its
// shards; none if there is only one.
func (h *handler) alike(reqs []fastmsg.Request) []fastmsg.Request {
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(reqs[i].Payload) }
	first, err := h.s.store.ByNumber(number(0))
	if err != nil {
		return nil
	}
	n := 1
	for ; n < len(reqs) && reqs[n].Kind == reqs[0].Kind; n++ {
		if number(n) == first.Number {
			continue
		}
		if c, err := h.s.store.ByNumber(number(n)); err != nil || first.Shards == nil || c.Shards != first.Shards {
			break
		}
	}
	if n = h.sameMode(reqs[:n]); n == 1 {
		return nil
	}
	return reqs[:n]
}

// sameMode returns how many of the first requests want the same of a member of a group, by
// the same map.
func (h *handler) sameMode(reqs []fastmsg.Request) int {
	if !h.s.opts.member.on && h.s.clusterOf.Load() == nil {
		return len(reqs)
	}
	first := reqs[0].Conn.Context.(*peer)
	for i, r := range reqs {
		if p := r.Conn.Context.(*peer); p.mode != first.mode || p.epoch != first.epoch {
			return i
		}
	}
	return len(reqs)
}

// permitted returns the first requests that the keys of their clients permit.
func (h *handler) permitted(reqs []fastmsg.Request) []fastmsg.Request {
	if h.s.access == nil {
		return reqs
	}
	for i, r := range reqs {
		if !r.Conn.Context.(*peer).guard.mayBatch(h.s, r.Kind, r.Payload) {
			return reqs[:i]
		}
	}
	return reqs
}
