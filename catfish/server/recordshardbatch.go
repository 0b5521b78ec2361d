package server

import (
	"encoding/binary"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Gets of several shards
//
// A worker that owns several shards of a collection finds their gets mixed:
//
//	requests   a0 b0 a1 a2 b1 c0      of shards a, b, c
//	made       a0 a1 a2 | b0 b1 | c0  each shard's together
//	answered   a0 b0 a1 a2 b1 c0
//
// The answers of one call may take manyBytes. Each shard has an equal part of that, so
// that no shard's answers keep another's, which came first, from fitting: the next
// call serves the requests from the first unanswered one on.

// shardBatch has the buffers that a service needs for such gets.
type shardBatch struct {
	of []uint8 // shard of each request
	at []uint8 // the request's place in recordScratch.ends
}

// serveShards serves together the first gets of one key that are of shards of one
// collection. 0: it served none, because there is only one such shard, or a get that
// is to be served alone.
func (h *handler) serveShards(reqs []fastmsg.Request) (n int) {
	first, err := h.s.colls.byNumber(binary.LittleEndian.Uint32(reqs[0].Payload))
	if err != nil || first.shards == nil {
		return 0
	}
	r, b := &h.records, &h.records.shards
	b.of, b.at = b.of[:0], b.at[:0]
	all := first.shards.all
	var present [model.MaxShards]bool
	shards := 0
	for i := range reqs {
		p := reqs[i].Payload
		if !isGet(&reqs[i].Message) ||
			h.s.access != nil && !reqs[i].Conn.Context.(*peer).guard.mayBatch(h.s, reqs[i].Kind, p) {
			break
		}
		c, err := h.s.colls.byNumber(binary.LittleEndian.Uint32(p))
		if err != nil || c.shards != first.shards {
			break
		}
		if !present[c.shard] {
			present[c.shard] = true
			shards++
		}
		b.of, b.at = append(b.of, uint8(c.shard)), append(b.at, 0)
	}
	if shards < 2 {
		return 0
	}
	var began time.Time
	if h.meter != nil {
		began = time.Now()
	}
	r.out, r.ends, r.large, r.err = r.out[:0], r.ends[:0], 0, nil
	done := 0
	for i, shard := range b.of { // each shard, when its first request is met
		if !present[shard] {
			continue
		}
		present[shard] = false
		done++
		r.begin(wire.ManyBytes * done / shards)
		for j := i; j < len(b.of); j++ {
			if b.of[j] == shard {
				b.at[j] = uint8(len(r.ends) + len(r.keys))
				r.add(reqs[j].Payload[wire.HeadBytes+2:])
			}
		}
		if r.runMore(all[shard]) != nil || i == 0 && r.large > 0 {
			return 0
		}
	}
	if first.gone() != nil {
		return 0
	}
	for ; n < len(b.of) && r.answered(int(b.at[n])); n++ {
		h.serves(reqs[n].Conn)
		h.touches(all[b.of[n]], 1)
		reqs[n].Conn.Respond(wire.KindReply, reqs[n].ID, r.of(int(b.at[n])))
	}
	if h.meter != nil {
		h.meter.observe(wire.KindGet, n, time.Since(began), false)
	}
	h.trim()
	return n
}
