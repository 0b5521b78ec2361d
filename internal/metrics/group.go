package metrics

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
)

// Metrics of a member of a group of servers. Tests compare their names with
// docs/operations.md.
var (
	groupRole      = groupDesc("role", "1 for the role that this member has, 0 for others: primary, secondary, learner (not in sync), failed.", "role")
	groupTerm      = groupDesc("term", "Term of the group: it rises with each primary.")
	groupMembers   = groupDesc("members", "Members of the group.")
	groupInSync    = groupDesc("in_sync_members", "Members in sync, the primary included.")
	groupMinInSync = groupDesc("min_in_sync_members", "Members in sync that writes need.")
	groupLogged    = groupDesc("logged_revision", "Last revision in this member's log.")
	groupCommitted = groupDesc("committed_revision", "Last revision that this member knows to be committed.")
	groupApplied   = groupDesc("applied_revision", "Last revision that readers of this member see.")
	groupLag       = groupDesc("follower_lag_revisions", "Revisions of the primary's log that another member has not acknowledged; of primaries only.", "follower")
	groupLagTime   = groupDesc("follower_lag_seconds", "How old the newest state is that another member surely has, 0: it has all; of primaries only.", "follower")
	groupLease     = groupDesc("lease_seconds", "What is left of the lease under which this member may be read, as the primary or as a secondary; 0: none.")
	groupTerms     = groupDesc("terms_total", "Terms that began, as this member saw them: failover (without the old primary), switch (with it), restart (of the same).", "cause")
	groupChanges   = groupDesc("in_sync_changes_total", "Changes of the set of members in sync, as this member saw them.")
	groupFrames    = groupDesc("sent_frames_total", "Frames of the log that this member sent to others.")
	groupBytes     = groupDesc("sent_bytes_total", "Bytes that this member sent to others, without copies.")
	groupCopies    = groupDesc("copies_total", "Copies of the store that this member sent to others.", "result")
	groupCoord     = groupDesc("coordinator_reachable", "1 if a coordinator answered this member's last call.")
	groupAnswered  = groupDesc("coordinator_answer_age_seconds", "Time since a coordinator last answered; it is asked every few seconds.")
)

// groupDescs and groupNames are their descriptions and names.
var (
	groupDescs []*prometheus.Desc
	groupNames []string
)

func groupDesc(name, help string, labels ...string) *prometheus.Desc {
	name = "catfish_group_" + name
	d := prometheus.NewDesc(name, help, append([]string{"group", "node"}, labels...), nil)
	groupDescs, groupNames = append(groupDescs, d), append(groupNames, name)
	return d
}

// roles are those that a member may have.
var roles = [...]string{"primary", "secondary", "learner", "failed"}

// Member are the figures of a member of a group.
type Member struct {
	Group, Node, Role string
	Stats             *node.Stats    // nil: it has not joined yet
	Map               *placement.Map // nil: its group has a store of its own
}

// Group shows a member of a group. Before Of is called it shows nothing, as in a server
// without a group. The zero value is ready, and safe for concurrent use.
type Group struct {
	of atomic.Pointer[func() Member] // asked at each scrape
}

// Of sets the source of the figures: member is safe for concurrent use.
func (g *Group) Of(member func() Member) { g.of.Store(&member) }

// Describe implements prometheus.Collector.
func (g *Group) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range slices.Concat(groupDescs, mapDescs) {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *Group) Collect(ch chan<- prometheus.Metric) {
	of := g.of.Load()
	if of == nil {
		return
	}
	m, e := (*of)(), emitter{ch}
	for _, r := range roles {
		e.gauge(groupRole, one(r == m.Role), m.Group, m.Node, r)
	}
	s := m.Stats
	if s == nil {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		e.gauge(d, v, append([]string{m.Group, m.Node}, labels...)...)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		e.count(d, float64(v), append([]string{m.Group, m.Node}, labels...)...)
	}
	gauge(groupTerm, float64(s.Group.Term))
	gauge(groupMembers, float64(len(s.Group.Members)))
	gauge(groupInSync, float64(len(s.Group.InSync)))
	gauge(groupMinInSync, float64(s.Group.MinInSync))
	gauge(groupLogged, float64(s.Status.End))
	gauge(groupCommitted, float64(s.Status.Committed))
	gauge(groupApplied, float64(s.Applied))
	for _, f := range s.Followers {
		gauge(groupLag, float64(f.Behind), f.Name)
		gauge(groupLagTime, f.BehindT.Seconds(), f.Name)
	}
	gauge(groupLease, s.Lease.Seconds())
	count(groupTerms, s.Failovers, "failover")
	count(groupTerms, s.Switches, "switch")
	count(groupTerms, s.Restarts, "restart")
	count(groupChanges, s.InSyncChanges)
	count(groupFrames, s.Frames)
	count(groupBytes, s.Bytes)
	count(groupCopies, s.Copies, "sent")
	count(groupCopies, s.CopiesFailed, "failed")
	gauge(groupCoord, one(s.Reachable))
	gauge(groupAnswered, time.Since(s.Answered).Seconds())
	collectMap(m.Map, gauge, m.Group)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
