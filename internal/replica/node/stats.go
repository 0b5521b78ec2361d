package node

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/boottime"
)

// Stats are figures of a member for its operators. Counts are of what this member has seen
// since it started.
type Stats struct {
	Group     *Group
	Status    Status
	Applied   uint64
	Lease     time.Duration // that is left to readers (Node.Lease), 0: none
	Followers []Follower    // of the primary, by name

	// Terms that began: another primary took over without the old one (failover) or together
	// with it (switch), or the same one started again.
	Failovers, Switches, Restarts uint64
	InSyncChanges                 uint64
	Frames, Bytes                 uint64 // sent, frames of the log and all bytes
	Copies, CopiesFailed          uint64 // of the store, sent
	// Answered is when a coordinator last answered, and Reachable whether it did last time.
	Answered  time.Time
	Reachable bool
}

// Follower is another member as the primary knows it.
type Follower struct {
	Name    string
	InSync  bool
	Behind  uint64        // revisions
	BehindT time.Duration // how old the newest state is that it surely has, 0: it has all
}

// counts are those of Stats.
type counts struct {
	failovers, switches, restarts, inSync, frames, bytes, copies, copiesFailed atomic.Uint64

	answered atomic.Int64 // UnixNano
	away     atomic.Bool
	probing  atomic.Bool // the coordinator is being asked
}

// count compares a group with the one that was read before.
func (c *counts) count(old, g *Group) {
	if g.Term != old.Term {
		switch {
		case g.Primary == old.Primary:
			c.restarts.Add(1)
		case slices.Contains(g.InSync, old.Primary):
			c.switches.Add(1)
		default:
			c.failovers.Add(1)
		}
	}
	if a, b := slices.Sorted(slices.Values(old.InSync)), slices.Sorted(slices.Values(g.InSync)); !slices.Equal(a, b) {
		c.inSync.Add(1)
	}
}

// asked notes what became of a call of the coordinator.
func (c *counts) asked(away bool) {
	c.away.Store(away)
	if !away {
		c.answered.Store(time.Now().UnixNano())
		c.probing.Store(false)
	}
}

// probeTime is how old the coordinator's last answer is when it is asked for another: as long
// as the group does not change, no other call asks it.
const probeTime = 5 * time.Second

// probe is called by the loop.
func (n *Node) probe() {
	if time.Since(time.Unix(0, n.counts.answered.Load())) > probeTime && !n.counts.probing.Swap(true) {
		n.decide.put(decision{})
	}
}

// mark says what a follower surely has: all that the log had at a time.
type mark struct {
	end    uint64        // of the log at time at
	at     time.Duration // then
	caught time.Duration // it has all that the log had then
}

// mark is called by the loop at each tick.
func (n *Node) mark() {
	if !n.m.Leading() {
		clear(n.marks)
		return
	}
	end, t := n.m.Status().End, boottime.Now()
	n.peers = n.m.Peers(n.peers[:0])
	for _, p := range n.peers {
		m := n.marks[p.ID]
		if m == nil {
			m = &mark{end, t, t}
			n.marks[p.ID] = m
		}
		if p.Received >= m.end {
			*m = mark{end, t, m.at}
		}
	}
}

// Stats returns them.
func (n *Node) Stats() Stats {
	c := &n.counts
	s := Stats{Group: n.Group(), Applied: n.Applied(), Failovers: c.failovers.Load(), Switches: c.switches.Load(), Restarts: c.restarts.Load(),
		InSyncChanges: c.inSync.Load(), Frames: c.frames.Load(), Bytes: c.bytes.Load(), Copies: c.copies.Load(), CopiesFailed: c.copiesFailed.Load(),
		Answered: time.Unix(0, c.answered.Load()), Reachable: !c.away.Load()}
	n.inLoop(func() { s.Followers = n.followers(s.Group) })
	s.Status = n.Status()
	if l := n.Lease(); l.Term != 0 {
		s.Lease = max(0, l.Until-boottime.Now())
	}
	return s
}

// followers is called in the loop.
func (n *Node) followers(g *Group) (all []Follower) {
	if !n.m.Leading() {
		return nil
	}
	end, t := n.m.Status().End, boottime.Now()
	for _, p := range n.m.Peers(nil) {
		is := g.byID(p.ID)
		if is == nil {
			continue // It was removed.
		}
		f := Follower{Name: is.Name, InSync: n.m.Config().InSync.Has(p.ID), Behind: end - min(end, p.Received)}
		if m := n.marks[p.ID]; m != nil && f.Behind > 0 {
			f.BehindT = t - m.caught
		}
		all = append(all, f)
	}
	return all
}
