package client

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/cuckoo"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// References that answers bring
//
// With Options.Pointers "answers" Gets go as HydraDB's do (section 4.2.2):
//
//	a good reference is kept    one Read
//	none, or it was bad         a message with WithLeases; the answer brings the value, the
//	                            record's reference, and a lease
//
// The lease counts from when the message was sent, which is before the server granted it. The
// server grants it on the record that it found, unless that has died since: so a read by the
// reference is judged as after a renewal (internal/kv/remote/kept.go), and the same renewals
// extend the lease of what is hit.

// The values of Options.Pointers.
const (
	PointersLookups = "lookups"
	PointersAnswers = "answers"
)

// asksLeases notes whether messages for the open collection ask for leases: where
// references can be used.
func (g *getQuery) asksLeases(c *Client, s *session) error {
	g.asks = g.of == ofRecords && c.conn.opts.Pointers == PointersAnswers && g.open.records.pointers != nil
	if g.asks && !s.hello.LeasesRecords {
		return s.cannot("give references with answers")
	}
	return nil
}

func anyKept(l []records.Kept) bool {
	return slices.ContainsFunc(l, func(k records.Kept) bool { return k.Ref != 0 })
}

// keepLease keeps the reference that b begins with, of key i, and returns what follows it.
func (g *getQuery) keepLease(i int, lease time.Duration, b []byte) ([]byte, error) {
	if !g.asks || len(b) < 8 {
		return b, fmt.Errorf("%w: a lease of %v on key %d, asked for: %v, followed by %d bytes", model.ErrProtocol, lease, i, g.asks, len(b))
	}
	at, ref := g.open.records, record.Ref(binary.LittleEndian.Uint64(b))
	if at.m.Space.Check(ref) == nil {
		at.pointers.Put(cuckoo.Hash(at.m.Seed, g.keys[i]), ref, wire.Monotonic(), g.sent+lease)
	} else {
		// The record is in memory that this client does not know yet: the next call asks
		// the server how much there is.
		g.open.outgrown.Store(true)
	}
	return b[8:], nil
}
