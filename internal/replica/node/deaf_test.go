package node

import (
	"context"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/replica"
)

// hear lets the answers of the coordinator be lost, or arrive. Calls still arrive.
func (d *memDecider) hear(hears bool) { d.deaf.Store(!hears) }

// loses waits until an answer would have been lost, and reports whether it is.
func (d *memDecider) loses(ctx context.Context) bool {
	if !d.deaf.Load() {
		return false
	}
	select {
	case d.lost <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return true
}

// A primary that hears no answer of the coordinator does not take others out of the set.
func TestDeafPrimaryRemovesNobody(t *testing.T) {
	g := testGroup(t, 2)
	g.inSync(2)
	n := g.primary().node
	catfishtest.Eventually(t, "the primary knows the set", func() bool { return len(n.Group().InSync) == 2 })
	alone := n.Group().config()
	alone.InSync = replica.SetOf(n.id)
	g.decider.hear(false)
	asked := make(chan struct{})
	go func() { n.change(alone); close(asked) }()
	select {
	case <-g.decider.lost:
	case <-time.After(20 * time.Second):
		t.Fatal("the primary asks for nothing")
	}
	g.decider.mu.Lock()
	v := g.decider.value[Key("g")]
	g.decider.mu.Unlock()
	if is, err := Parse(v); err != nil || len(is.InSync) != 2 {
		t.Errorf("the set is %s, %v", v.Bytes, err)
	}
	g.decider.hear(true)
	g.inSync(1) // until the other one is added again
	<-asked
}
