package catfishtest

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// GroupOfOne is a store's group that commits everything, and whose lease a test grants.
type GroupOfOne struct {
	lease atomic.Pointer[replica.Lease]
	end   atomic.Uint64
}

// NewGroupOfOne returns one whose member is the primary of term 1 for an hour.
func NewGroupOfOne() *GroupOfOne {
	g := new(GroupOfOne)
	g.Grant(1, time.Hour)
	return g
}

// Grant makes the lease one of a term, that ends after a time.
func (g *GroupOfOne) Grant(term uint64, left time.Duration) {
	g.lease.Store(&replica.Lease{Term: term, Until: boottime.Now() + left})
}

// Propose counts the entries.
func (g *GroupOfOne) Propose(entries []disk.Entry) error {
	g.end.Store(entries[len(entries)-1].Revision)
	return nil
}

// Failed does nothing.
func (g *GroupOfOne) Failed(error) {}

// Lease is what was granted last.
func (g *GroupOfOne) Lease() replica.Lease { return *g.lease.Load() }

// End is the last revision that was proposed.
func (g *GroupOfOne) End() uint64 { return g.end.Load() }
