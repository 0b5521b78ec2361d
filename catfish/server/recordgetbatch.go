package server

import (
	"encoding/binary"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// Gets of one key, together
//
// A worker that owns several shards of a collection finds their gets mixed:
//
//	requests   a0 b0 a1 a2 b1 c0      of shards a, b, c
//	made       a0 a1 a2 | b0 b1 | c0  each shard's together
//	answered   a0 b0 a1 a2 b1 c0
//
// The answers of one batch may take ManyBytes. Each shard has an equal part of that, so
// that no shard's answers keep another's, which came first, from fitting: the next
// batch has the requests from the first unanswered one on. A collection that is not
// divided is its only shard.

// getBatch has the buffers that a service needs for such gets. Payloads have up to
// fastmsg.BatchPayload bytes, so keys up to 54.
type getBatch struct {
	of []*collection // the shard of each request
	at []uint8       // the request's place in recordScratch.ends
}

func (b *getBatch) run(h *handler, reqs []fastmsg.Request) (n int, _ *task) {
	r := &h.records
	b.of, b.at = b.of[:0], b.at[:0]
	var present [model.MaxShards]bool
	shards := 0
	for i := range reqs {
		c, err := h.s.store.ByNumber(binary.LittleEndian.Uint32(reqs[i].Payload))
		if err != nil || c.Records == nil {
			break
		}
		if !present[c.Shard] {
			present[c.Shard] = true
			shards++
		}
		b.of, b.at = append(b.of, c), append(b.at, 0)
	}
	r.reset()
	done := 0
	for i, shard := range b.of { // each shard, when its first request is met
		if !present[shard.Shard] {
			continue
		}
		present[shard.Shard] = false
		done++
		r.begin(wire.ManyBytes * done / shards)
		for j := i; j < len(b.of); j++ {
			if b.of[j] == shard {
				b.at[j] = uint8(len(r.ends) + len(r.keys))
				p := reqs[j].Payload
				asks := binary.LittleEndian.Uint32(p[4:])&wire.WithLeases != 0
				r.add(p[wire.HeadBytes+2:], asks && h.s.readable())
			}
		}
		if r.runMore(shard) != nil || i == 0 && r.large > 0 || shard.Gone() != nil {
			return 0, nil
		}
	}
	for n < len(b.of) && r.answered(int(b.at[n])) {
		n++
	}
	return n, nil
}

func (b *getBatch) answer(h *handler, _ *peer, i int) []byte {
	h.touches(b.of[i], 1)
	return h.records.of(int(b.at[i]))
}

// isGet reports whether a message is a get of one key.
func isGet(m *fastmsg.Message) bool {
	return m.Kind == wire.KindGet && len(m.Payload) > wire.HeadBytes+2 &&
		binary.LittleEndian.Uint32(m.Payload[4:])&^wire.WithLeases == 1 &&
		int(binary.LittleEndian.Uint16(m.Payload[wire.HeadBytes:])) == len(m.Payload)-wire.HeadBytes-2
}
