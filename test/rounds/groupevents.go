//go:build linux

package rounds

import (
	"fmt"
	"math"

	"github.com/catfish-index/catfish/internal/history"
)

// wrongEventsOfGroups are the differences between the events of a watcher of several groups and the
// writes of features. Revisions of two groups cannot be compared, so the order of an id's events
// is that of its writes. A watch that begins again has missed some.
func wrongEventsOfGroups(events []Event, ops []Op) (wrong []string) {
	if len(events) == 0 || events[0].Key != standing {
		return []string{"it never stood"}
	}
	byKey := map[int][]Op{}
	for _, o := range ops {
		if !o.Read && o.Outcome != history.Refused && o.Key < keysOfRound {
			byKey[o.Key] = append(byKey[o.Key], o)
		}
	}
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].Key != standing {
			n++
		}
		wrong = append(wrong, wrongWatch(events[0], events[1:n], byKey, n == len(events))...)
		events = events[n:]
	}
	return wrong[:min(len(wrong), mostNamed)]
}

// wrongWatch judges one watch. complete: it has got the last event of each key.
func wrongWatch(stood Event, events []Event, byKey map[int][]Op, complete bool) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	for key, ops := range byKey {
		seen := make([]bool, len(ops))
		latest := int64(math.MinInt64) // when the latest write began whose event has come
		for _, e := range events {
			if e.Key != key {
				continue
			}
			i := writeOf(e, ops, func(i int) bool { return !seen[i] && ops[i].End >= stood.Call })
			switch {
			case i < 0:
				say("event %+v is of no write", e)
				continue
			case ops[i].Outcome == history.Unknown:
				continue
			case seen[i]:
				say("the write %v, revision %d, has two events", ops[i].KeyOp, ops[i].Revision)
			case ops[i].End < stood.Call:
				say("the write %v, revision %d, was acknowledged before the watch began, and has an event", ops[i].KeyOp, ops[i].Revision)
			case ops[i].End < latest:
				say("the event of %v comes after that of a write that began later", ops[i].KeyOp)
			}
			seen[i], latest = true, max(latest, ops[i].Call)
		}
		if complete {
			latest = math.MaxInt64
		}
		for i, o := range ops {
			if !seen[i] && o.Outcome == history.Done && o.Call > stood.End && o.End < latest {
				say("the write %v, revision %d, has no event", o.KeyOp, o.Revision)
			}
		}
	}
	return wrong
}

// writeOf is the number of an event's write, -1: there is none. Two groups may have given deletions the
// same revision: the first that fits is taken.
func writeOf(e Event, ops []Op, fits func(i int) bool) int {
	perhaps, is := -1, -1
	for i, o := range ops {
		switch {
		case o.Value != e.Value:
		case o.Outcome == history.Unknown:
			perhaps = i
		case o.Revision == e.Revision && (is < 0 || fits(i) && (!fits(is) || o.Call < ops[is].Call)):
			is = i
		}
	}
	if is >= 0 {
		return is
	}
	return perhaps
}
