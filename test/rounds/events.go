//go:build linux

package rounds

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/history"
)

// mostNamed bounds what one check says.
const mostNamed = 3

// wrongEvents are the differences between the events of a watcher and the writes.
func wrongEvents(events []Event, ops []Op) (wrong []string) {
	say := func(format string, args ...any) {
		if len(wrong) < mostNamed {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	if len(events) == 0 || events[0].Key != standing {
		return []string{"it never stood"}
	}
	since, events := events[0].Revision, events[1:]
	at := map[uint64]Event{}
	for i, e := range events {
		if i > 0 && e.Revision <= events[i-1].Revision {
			say("event of revision %d after that of %d", e.Revision, events[i-1].Revision)
		}
		at[e.Revision] = e
	}
	known := map[Event]bool{}
	unknown := map[Event]bool{} // without revision
	for _, o := range ops {
		if o.Read || o.Outcome == history.Refused {
			continue
		}
		e := Event{Key: o.Key, Value: o.Value, Revision: o.Revision}
		if o.Outcome == history.Unknown {
			e.Revision = 0
			unknown[e] = true
			continue
		}
		known[e] = true
		if o.Revision <= since {
			continue
		}
		if got, ok := at[o.Revision]; !ok || got != e {
			say("the write %v of key %d, revision %d, has the event %+v", o.KeyOp, o.Key, o.Revision, got)
		}
	}
	for _, e := range events {
		any := e
		any.Revision = 0
		if e.Key >= 0 && !known[e] && !unknown[any] {
			say("event %+v is of no write", e)
		}
	}
	return wrong
}
