package web

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Ids of events
//
// An id is the position after its event:
//
//	REVISION-HISTORY              all events up to the revision
//	REVISION-HISTORY-RANK+NAME    and those of the next revision up to one area
//
// HISTORY has 16 hexadecimal digits. The second form is for a write that has events of
// several areas: they have the store's order, by rank (0: the feature leaves the area, 1:
// all other events) and name, which is in base64url. A revision alone is accepted, too.

// position is the end of the sent events: a revision, the history that counts it
// (store.WatchOptions), and the last event sent of the next revision.
type position struct {
	revision, history uint64
	next              mark
}

// mark is an event among those of one revision; zero: before all of them.
type mark struct {
	some  bool
	enter bool // an enter or other event, not Exit
	name  string
}

func markOf(e *store.Event) mark { return mark{true, e.Kind != query.Exit, e.Name} }

// compare orders the events of one revision as the store does.
func (m mark) compare(o mark) int {
	return cmp.Or(cmp.Compare(m.rank(), o.rank()), cmp.Compare(m.name, o.name))
}

func (m mark) rank() int {
	switch {
	case !m.some:
		return -1
	case !m.enter:
		return 0
	}
	return 1
}

func (p position) String() string {
	s := fmt.Sprintf("%d-%016x", p.revision, p.history)
	if p.next.some {
		s += fmt.Sprintf("-%d%s", p.next.rank(), base64.RawURLEncoding.EncodeToString([]byte(p.next.name)))
	}
	return s
}

func positionOf(text string) (p position, err error) {
	revision, history, both := strings.Cut(text, "-")
	history, next, all := strings.Cut(history, "-")
	if p.revision, err = strconv.ParseUint(revision, 10, 64); err == nil && both {
		p.history, err = strconv.ParseUint(history, 16, 64)
	}
	if err != nil || !all {
		return p, err
	}
	if next == "" || next[0] != '0' && next[0] != '1' {
		return p, errors.New("no rank")
	}
	name, err := base64.RawURLEncoding.DecodeString(next[1:])
	p.next = mark{true, next[0] == '1', string(name)}
	return p, err
}

// moveTo moves the position after all events up to a revision.
func (p *position) moveTo(revision uint64) {
	if p.revision != revision {
		p.revision, p.next = revision, mark{}
	}
}

// moveAfter moves the position after an event, and all before the event.
func (p *position) moveAfter(e *store.Event) {
	p.revision, p.next = e.Resume, mark{}
	if e.Resume < e.Revision {
		p.next = markOf(e)
	}
}

// has reports whether an event is before the position, and so was sent.
func (p *position) has(e *store.Event) bool {
	return p.next.some && e.Revision == p.revision+1 && markOf(e).compare(p.next) <= 0
}
