package node

import (
	"errors"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// preparing answers Prepare.
type preparing struct {
	mu    sync.Mutex
	asked map[string][]uint64 // by member: the terms
	first chan error          // of the first call of n1 that waits; nil: none does
	err   error
}

func (p *preparing) prepare(m *member, term uint64) error {
	p.mu.Lock()
	p.asked[m.name] = append(p.asked[m.name], term)
	first, err := p.first, p.err
	p.first = nil
	p.mu.Unlock()
	if first != nil {
		return <-first
	}
	return err
}

func (p *preparing) set(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// terms are those for which a member was asked.
func (p *preparing) terms(m *member) []uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[m.name]
}

// A member that was promoted takes no write, and grants no lease, until Prepare has returned nil.
func TestPrepare(t *testing.T) {
	g := testGroup(t, 2)
	g.inSync(2)
	r := g.write("a")
	old := g.primary()
	next := g.members[0]
	if next == old {
		next = g.members[1]
	}
	p := &preparing{asked: map[string][]uint64{}, err: errors.New("the map cannot be read")}
	g.stop(next)
	g.inSync(1)
	g.prepare = p.prepare
	g.start(next)
	g.inSync(2)
	g.has(next, r, "a")
	if err := Switch(t.Context(), g.decider, "g", next.name); err != nil {
		t.Fatal(err)
	}
	catfishtest.Eventually(t, "it is the primary, and was asked twice", func() bool {
		return next.node.Status().Leading && len(p.terms(next)) > 1 && next.node.readers.granted.Load().Term != 0
	})
	refused := func() {
		t.Helper()
		err := next.node.Propose([]disk.Entry{{Collection: 1, Kind: disk.Put, Key: []byte("b"), Revision: next.store.Revision() + 1}})
		if !errors.Is(err, fault.ErrNotPrimary) {
			t.Errorf("a write: %v", err)
		}
		if l := next.node.Lease(); l.Term != 0 {
			t.Errorf("a lease: %+v", l)
		}
		if term, leads := next.node.Leads(); leads || next.node.Serves() {
			t.Errorf("it leads in term %d", term)
		}
	}
	catfishtest.Eventually(t, "it has all of the terms before", func() bool { return next.node.Applied() >= next.node.Status().began })
	refused()
	p.set(nil)
	r = g.write("b")
	g.has(old, r, "b")
	if next.node.Lease().Term == 0 {
		t.Error("no lease")
	}
}

// A Prepare of an earlier term that ends late changes nothing for the term that is.
func TestPrepareLate(t *testing.T) {
	late := make(chan error)
	p := &preparing{asked: map[string][]uint64{}, first: late}
	g := testGroup(t, 1)
	m := g.members[0]
	g.stop(m)
	g.prepare = p.prepare
	g.start(m)
	catfishtest.Eventually(t, "it was asked", func() bool { return len(p.terms(m)) > 0 })
	term := p.terms(m)[0] + 1
	n := m.node
	n.prepare(term)
	catfishtest.Eventually(t, "it is ready for the next term", func() bool { return n.prepared.Load() == term })
	late <- nil
	g.stop(m) // Both calls have ended then.
	if is := n.prepared.Load(); is != term {
		t.Errorf("it is ready for term %d, want %d", is, term)
	}
}
