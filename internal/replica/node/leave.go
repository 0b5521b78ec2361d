package node

import (
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/replica"
)

// Leave hands over to another in-sync member, if this one is the primary, and waits for it
// up to a time. It asks the members in order, first the one that was heard last:
// one that is away takes as long as a lease. If none is left, it waits for a learner to be
// in sync: after a failover, for example, the others may still be catching up.
func (n *Node) Leave(within time.Duration) {
	end, t := time.NewTimer(within), time.NewTicker(tick)
	defer end.Stop()
	defer t.Stop()
	var asked replica.Set
	for n.Status().Leading {
		left, learner := true, false
		n.inLoop(func() {
			if n.m.Moving() {
				return
			}
			var to replica.ID
			if to, left = n.successor(asked); left {
				asked = asked.With(to)
				n.step(replica.HandOver{To: to})
			}
			learner = n.learns()
		})
		if !left && !learner {
			n.log.Warn(leftAlone)
			return
		}
		select {
		case <-t.C:
		case <-end.C:
			if n.Status().Leading {
				n.log.Warn(leftAlone)
			}
			return
		case <-n.ctx.Done():
			return
		}
	}
}

const leftAlone = "this primary ends, and no other member in sync has taken over"

// learns reports whether a member that is not in sync answers beacons.
func (n *Node) learns() bool {
	in, now := n.m.Config().InSync, boottime.Now()
	return slices.ContainsFunc(n.m.Peers(nil), func(p replica.Peer) bool {
		return !in.Has(p.ID) && p.Heard >= 0 && now-p.Heard < n.o.Times.Grace
	})
}

// successor is the in-sync member that was heard last, of those that were not asked.
func (n *Node) successor(asked replica.Set) (to replica.ID, found bool) {
	in, last := n.m.Config().InSync, time.Duration(0)
	for _, p := range n.m.Peers(nil) {
		if in.Has(p.ID) && !asked.Has(p.ID) && (!found || p.Heard > last) {
			to, last, found = p.ID, p.Heard, true
		}
	}
	return to, found
}

// inLoop has the loop call a function, and waits until it has, or the member has ended.
func (n *Node) inLoop(f func()) {
	done := make(chan struct{})
	n.send(event{do: func() { f(); close(done) }})
	select {
	case <-done:
	case <-n.ended:
	}
}
