package metrics

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// The metrics of a member name its group, and those of a primary the other members.
func TestGroup(t *testing.T) {
	var g Group
	r := prometheus.NewRegistry()
	r.MustRegister(&g)
	if n, err := testutil.GatherAndCount(r); n != 0 || err != nil {
		t.Errorf("without a group: %d metrics, %v", n, err)
	}
	m := Member{Group: "g", Node: "n1", Role: "learner"}
	g.Of(func() Member { return m })
	if n, err := testutil.GatherAndCount(r); n != len(roles) || err != nil {
		t.Errorf("before it has joined: %d metrics, %v", n, err)
	}
	m.Role = "primary"
	m.Stats = &node.Stats{
		Group:  &node.Group{Term: 7, MinInSync: 2, InSync: []string{"n1", "n2"}, Members: make([]node.Member, 3)},
		Status: node.Status{End: 12, Committed: 11}, Applied: 10, Lease: 300 * time.Millisecond,
		Followers: []node.Follower{{Name: "n2", InSync: true, Behind: 3, BehindT: 1500 * time.Millisecond}},
		Failovers: 4, Switches: 5, Restarts: 6, InSyncChanges: 8, Frames: 9, Bytes: 1000, Copies: 1, CopiesFailed: 2,
		Answered: time.Now(), Reachable: true,
	}
	problems, err := testutil.GatherAndLint(r)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	want := `catfish_group_role{group="g",node="n1",role="primary"} 1
catfish_group_role{group="g",node="n1",role="learner"} 0
catfish_group_term{group="g",node="n1"} 7
catfish_group_members{group="g",node="n1"} 3
catfish_group_in_sync_members{group="g",node="n1"} 2
catfish_group_min_in_sync_members{group="g",node="n1"} 2
catfish_group_logged_revision{group="g",node="n1"} 12
catfish_group_committed_revision{group="g",node="n1"} 11
catfish_group_applied_revision{group="g",node="n1"} 10
catfish_group_follower_lag_revisions{follower="n2",group="g",node="n1"} 3
catfish_group_follower_lag_seconds{follower="n2",group="g",node="n1"} 1.5
catfish_group_lease_seconds{group="g",node="n1"} 0.3
catfish_group_terms_total{cause="failover",group="g",node="n1"} 4
catfish_group_terms_total{cause="switch",group="g",node="n1"} 5
catfish_group_terms_total{cause="restart",group="g",node="n1"} 6
catfish_group_in_sync_changes_total{group="g",node="n1"} 8
catfish_group_sent_frames_total{group="g",node="n1"} 9
catfish_group_sent_bytes_total{group="g",node="n1"} 1000
catfish_group_copies_total{group="g",node="n1",result="sent"} 1
catfish_group_copies_total{group="g",node="n1",result="failed"} 2
catfish_group_coordinator_reachable{group="g",node="n1"} 1`
	w := httptest.NewRecorder()
	Handler(r, sample(), always, slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	for line := range strings.Lines(want + "\n") {
		if !strings.Contains(text, line) {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	for _, name := range groupNames {
		if !strings.Contains(text, "\n"+name+"{") {
			t.Errorf("%s is described, and not there", name)
		}
	}
}

// The map's figures are of this member's group, and there are none without a map.
func TestMap(t *testing.T) {
	m, err := placement.New([]placement.Group{{Name: "f", Weight: 1}, {Name: "g", Weight: 3}})
	if err != nil {
		t.Fatal(err)
	}
	slot := func(n uint16, from, to placement.Index) placement.Move {
		return placement.Move{Part: placement.Part{Slot: n}, From: from, To: to}
	}
	if m, err = m.Begin(slot(0, 0, 1), slot(1, 0, 1), slot(4095, 1, 0), slot(4094, 1, 0)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(placement.Part) (*placement.Map, error){
		func(p placement.Part) (*placement.Map, error) { return m.Copied(p) },
		func(p placement.Part) (*placement.Map, error) { return m.Freeze(p, 7) },
	} {
		for _, n := range []uint16{0, 4095} {
			if m, err = step(placement.Part{Slot: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var g Group
	g.Of(func() Member { return Member{Group: "g", Node: "n1", Stats: &node.Stats{Group: &node.Group{}}, Map: m} })
	want := fmt.Sprintf(`# HELP catfish_map_epoch Version of the map at which a slot, or a range of boxes, had another owner last.
# TYPE catfish_map_epoch gauge
catfish_map_epoch{group="g",node="n1"} 1
# HELP catfish_map_frozen_slots Slots of this group that no group takes writes of, since they are about to move.
# TYPE catfish_map_frozen_slots gauge
catfish_map_frozen_slots{group="g",node="n1"} 1
# HELP catfish_map_moves Moves of slots and ranges under way from this group or to it, by step.
# TYPE catfish_map_moves gauge
catfish_map_moves{group="g",node="n1",step="catch up"} 0
catfish_map_moves{group="g",node="n1",step="copy"} 2
catfish_map_moves{group="g",node="n1",step="drop"} 0
catfish_map_moves{group="g",node="n1",step="freeze"} 2
catfish_map_moves{group="g",node="n1",step="wait"} 0
# HELP catfish_map_owned_slots Slots of features and records that this group has, of 4096.
# TYPE catfish_map_owned_slots gauge
catfish_map_owned_slots{group="g",node="n1"} 3072
# HELP catfish_map_version Version of the map of groups: it rises with each change, also of a move's step.
# TYPE catfish_map_version gauge
catfish_map_version{group="g",node="n1"} %d
`, m.Version)
	if err := testutil.CollectAndCompare(&g, strings.NewReader(want), mapNames...); err != nil {
		t.Error(err)
	}
	m = nil
	if err := testutil.CollectAndCompare(&g, strings.NewReader(""), mapNames...); err != nil {
		t.Error(err)
	}
}
