package node

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
)

// readers is until when a member may be read: a primary by the lease that the protocol
// grants, an in-sync secondary as long as it is fresh.
type readers struct {
	granted atomic.Pointer[replica.Lease] // a primary's; term 0: it is none
	fresh   atomic.Pointer[replica.Lease] // a secondary's

	// Used by the loop.
	freshness replica.Freshness
	sent      time.Duration // of the latest beacon that was looked at
	waits     replica.Lease // granted once the store has what the beacon says is committed
	through   uint64
}

// Lease is until when this member may be read, by boottime.Now: as the primary; or, with
// replica.OfSecondary in its term, as a secondary, for values that are a lease old. A caller
// looks at it after it has read (replica.Lease.Covers).
func (n *Node) Lease() replica.Lease {
	if l := n.readers.granted.Load(); l.Term != 0 {
		// The lease begins when the group has committed all that the primaries before have
		// acknowledged, and the store may need a moment more.
		if n.Serves() && l.Term == n.prepared.Load() {
			return *l
		}
		return replica.Lease{}
	}
	return *n.readers.fresh.Load()
}

// End is the last revision of the log, which need not be committed.
func (n *Node) End() uint64 { return n.Status().End }

// freshen grants a lease to a secondary's readers, after each event. A beacon counts once the
// store has what was committed when it was sent; those that come meanwhile are left out.
func (n *Node) freshen() {
	r := &n.readers
	sent, came, ok := n.m.Heard()
	if !ok {
		if r.fresh.Load().Term != 0 {
			r.fresh.Store(&replica.Lease{})
		}
		r.freshness, r.waits, r.sent = replica.Freshness{}, replica.Lease{}, 0
		return
	}
	if sent != r.sent {
		until := r.freshness.Until(sent, came, n.o.Times.Lease)
		r.sent = sent
		if r.waits.Term == 0 {
			r.waits = replica.Lease{Term: n.m.Config().Term | replica.OfSecondary, Until: until}
			r.through = n.m.Status().Committed
		}
	}
	if r.waits.Term != 0 && n.o.Store.Revision() >= r.through {
		l := r.waits
		r.fresh.Store(&l)
		r.waits = replica.Lease{}
	}
}
