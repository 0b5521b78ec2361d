package node

import (
	"context"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
)

// await waits for a condition of a node's figures.
func await(t *testing.T, what string, n *Node, is func(Stats) bool) Stats {
	t.Helper()
	var s Stats
	catfishtest.Eventually(t, what, func() bool {
		s = n.Stats()
		return is(s)
	})
	return s
}

func follower(s Stats, name string) Follower {
	for _, f := range s.Followers {
		if f.Name == name {
			return f
		}
	}
	return Follower{}
}

// The figures of a member follow what happens in its group.
func TestStats(t *testing.T) {
	began := time.Now()
	g := testGroup(t, 3)
	g.inSync(3)
	primary := g.primary()
	g.write("a")
	s := await(t, "both others have all", primary.node, func(s Stats) bool {
		return len(s.Followers) == 2 && s.Followers[0].Behind+s.Followers[1].Behind == 0
	})
	if s.Followers[0].BehindT != 0 || !s.Followers[0].InSync || s.Frames == 0 || s.Bytes == 0 || s.Lease <= 0 || !s.Reachable || s.Failovers+s.Switches > 0 {
		t.Errorf("%+v", s)
	}

	// One that is away falls behind, in revisions and in time.
	var away, to *member
	for _, m := range g.members {
		if m != primary {
			away, to = to, m
		}
	}
	g.stop(away)
	g.inSync(2)
	g.write("b")
	before := follower(await(t, "one is behind", primary.node, func(s Stats) bool {
		return follower(s, away.name).Behind == 1 && follower(s, to.name).Behind == 0
	}), away.name)
	if before.InSync || before.BehindT <= 0 || before.BehindT > time.Since(began) {
		t.Errorf("the member that is away: %+v", before)
	}
	await(t, "it falls behind further", primary.node, func(s Stats) bool { return follower(s, away.name).BehindT > before.BehindT })
	if s := primary.node.Stats(); s.InSyncChanges == 0 {
		t.Errorf("%+v", s)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := Switch(ctx, g.decider, "g", to.name); err != nil {
		t.Fatal(err)
	}
	await(t, "the old primary counts a switch", primary.node, func(s Stats) bool { return s.Switches == 1 && s.Failovers == 0 && s.Followers == nil })
	g.write("c")
	g.inSync(2)
	g.stop(to)
	await(t, "it counts a failover", primary.node, func(s Stats) bool { return s.Switches == 1 && s.Failovers == 1 })
}

// A coordinator is asked although no decision needs it.
func TestCoordinatorIsProbed(t *testing.T) {
	g := testGroup(t, 1)
	n := g.members[0].node
	old := time.Now().Add(-2 * probeTime)
	g.write("a") // Then it has decided all that it has to.
	n.counts.answered.Store(old.UnixNano())
	await(t, "it is asked again", n, func(s Stats) bool { return time.Since(s.Answered) < probeTime })
}
