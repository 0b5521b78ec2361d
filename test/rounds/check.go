//go:build linux

package rounds

import (
	"maps"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/history"
)

// Result is what a round has shown.
type Result struct {
	Seed      uint64         `json:"seed"`
	Fault     string         `json:"fault"`
	During    string         `json:"during,omitempty"`
	Transport string         `json:"transport"`
	Acked     int            `json:"acked"`            // writes
	Unknown   int            `json:"unknown"`          // writes whose outcome is unknown
	Lost      int            `json:"lost"`             // acknowledged boxes that are not there
	Doubled   int            `json:"doubled"`          // boxes that exist more than once
	Stale     map[string]int `json:"stale"`            // reads by path
	Action    string         `json:"action,omitempty"` // on several groups
	Step      string         `json:"step,omitempty"`   // of the moves, at which the fault was to begin
	At        string         `json:"at,omitempty"`     // the step at which it began; empty: no move was under way
	Victim    string         `json:"victim,omitempty"` // of the source or the destination
	Begun     int            `json:"begun,omitempty"`  // moves
	Moved     int            `json:"moved,omitempty"`  // slots
	Unordered bool           `json:"unordered"`        // no order explains the other reads
	Reads     map[string]int `json:"reads"`            // by path, and those during the fault by path + " during"
	Offloaded uint64         `json:"offloaded"`
	Gap       time.Duration  `json:"gap_ns"` // the longest time without an acknowledged write
	Events    int            `json:"events"`
	Broken    []string       `json:"broken,omitempty"` // promises
	Notes     []string       `json:"notes,omitempty"`
}

// check compares what clients saw with the promises. The fault lasted from began to healed.
func (r *round) check(began, healed int64) {
	said := r.said
	said.mu.Lock()
	defer said.mu.Unlock()
	res := &r.result
	res.Broken = append(res.Broken, said.broken...)
	if res.Offloaded == 0 {
		r.broken("no read was one-sided")
	}
	res.Reads = map[string]int{}
	var acks []int64
	for _, o := range said.ops {
		switch {
		case o.Read:
			res.Reads[o.Path]++
			if o.Call > began && o.End < healed {
				res.Reads[o.Path+" during"]++
			}
		case o.Outcome == history.Done:
			acks = append(acks, o.End)
		case o.Outcome == history.Unknown:
			res.Unknown++
		}
	}
	for _, b := range said.boxes {
		if b.Outcome == history.Done {
			acks = append(acks, b.End)
		} else {
			res.Unknown++
		}
	}
	res.Acked, res.Gap = len(acks), longestGap(acks, began)
	stale, broken := staleReads(said.ops)
	res.Broken = append(res.Broken, broken...)
	res.Stale = map[string]int{}
	for i := range stale {
		res.Stale[said.ops[i].Path]++
	}
	r.checkHistories(stale)
	r.checkBoxes()
	r.checkContents()
	if r.operator != nil {
		res.Begun, res.Moved = r.operator.begun, r.operator.moved
		for i, events := range said.events {
			for _, b := range wrongEventsOfGroups(events, said.ops) {
				r.broken("watcher of clients %d: %s", i+1, b)
			}
			res.Events += len(events)
		}
		return
	}
	for i, events := range said.events {
		for _, b := range wrongEvents(events, said.ops) {
			r.broken("watcher of clients %d: %s", i+1, b)
		}
		res.Events += len(events)
	}
}

// checkHistories wants an order of all writes of each key and its reads by id, and one of its
// writes and its reads by area: while a write is in flight, one that was stopped for example,
// the two may differ (internal/kv/follow.go). Reads that are not fenced are judged when no client writes
// any more; those before are counted. So are reads over HTTP, in any case: the member that
// clients took for the primary may be a secondary when it answers.
func (r *round) checkHistories(stale map[int]bool) {
	for _, byArea := range []bool{false, true} {
		strict, least := history.NewKeys(), history.NewKeys()
		for i, o := range r.said.ops {
			if o.Path == pathSecondary || o.Path == pathHTTP || o.Read && o.Area != byArea {
				continue
			}
			if !stale[i] || r.o.Fenced {
				strict.Add(o.KeyOp)
			}
			if !o.Read || o.Call > r.quiet {
				least.Add(o.KeyOp)
			}
		}
		if err := least.Check(); err != nil {
			r.broken("%v", err)
		} else if err := strict.Check(); err != nil {
			if r.result.Unordered = true; r.o.Fenced {
				r.broken("%v", err)
				return
			}
			r.note("reads are not fenced: %v", err)
		}
	}
}

// longestGap is the longest time between two acknowledgements, the later of which came after
// the fault began.
func longestGap(acks []int64, began int64) time.Duration {
	slices.Sort(acks)
	longest := int64(0)
	for i := 1; i < len(acks); i++ {
		if acks[i] > began {
			longest = max(longest, acks[i]-acks[i-1])
		}
	}
	return time.Duration(longest)
}

// checkBoxes wants each box that was acknowledged once, in each reading of everything.
func (r *round) checkBoxes() {
	outcome := map[uint64]history.Outcome{}
	for _, b := range r.said.boxes {
		outcome[b.ID] = b.Outcome
	}
	lost, doubled, invented := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
	readings := 0
	for _, c := range r.said.contents {
		if c.Node != "" {
			continue
		}
		if c.Error != "" {
			r.broken("everything cannot be read: %s", c.Error)
			continue
		}
		readings++
		times := map[uint64]int{}
		for _, id := range c.Boxes {
			if times[id]++; times[id] > 1 {
				doubled[id] = true
			}
			if _, tried := outcome[id]; !tried {
				invented[id] = true
			}
		}
		for id, o := range outcome {
			if o == history.Done && times[id] == 0 {
				lost[id] = true
			}
		}
	}
	if readings == 0 {
		r.broken("nobody has read everything")
	}
	r.result.Lost, r.result.Doubled = len(lost), len(doubled)
	for what, ids := range map[string]map[uint64]bool{
		"acknowledged boxes are lost": lost, "boxes are there twice": doubled, "boxes are there whose insertion was refused": invented,
	} {
		if len(ids) > 0 {
			all := slices.Sorted(maps.Keys(ids))
			r.broken("%d %s: %v", len(all), what, all[:min(len(all), mostNamed)])
		}
	}
}

// checkContents wants the same at all members.
func (r *round) checkContents() {
	var primary *Contents
	for i := range r.said.contents {
		c := &r.said.contents[i]
		switch {
		case c.Node == "":
			primary = c
		case c.Error != "":
			r.broken("%s cannot be read: %s", c.Node, c.Error)
		case primary != nil && primary.Error == "" && !maps.Equal(c.Keys, primary.Keys):
			r.broken("%s has %v, clients read %v", c.Node, c.Keys, primary.Keys)
		}
	}
}
