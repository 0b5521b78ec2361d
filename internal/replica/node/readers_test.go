package node

import (
	"testing"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/replica"
)

// The primary may be read, its secondaries may be read for older values, and a member that
// hears no beacons may not be read.
func TestLeasesOfMembers(t *testing.T) {
	g := testGroup(t, 2)
	g.inSync(2)
	r := g.write("a")
	first := g.primary()
	other := g.members[0]
	if other == first {
		other = g.members[1]
	}
	term := func(m *member) uint64 { return m.node.Group().Term }
	covers := func(m *member, term uint64) bool { return m.node.Lease().Covers(term, boottime.Now()) }
	catfishtest.Eventually(t, "both have leases", func() bool {
		return covers(first, term(first)) && covers(other, term(other)|replica.OfSecondary)
	})
	g.has(other, r, "a")
	if covers(other, term(other)) {
		t.Error("a secondary may be read as the primary")
	}
	if l := other.node.Lease(); l.Until > boottime.Now()+replica.DefaultOptions.Lease {
		t.Errorf("a secondary is fresh for %v, want at most %v", l.Until-boottime.Now(), replica.DefaultOptions.Lease)
	}
	old := term(first)
	g.stop(first)
	catfishtest.Eventually(t, "the secondary is the primary", func() bool { return covers(other, term(other)) && term(other) > old })
	if covers(other, old|replica.OfSecondary) {
		t.Error("the primary may be read as a secondary of the term before")
	}
}
