package web

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/store"
)

// Ids of events
//
// An id is the position after its event:
//
//	REVISION-HISTORY              all events up to the revision
//	REVISION-HISTORY-RANK+NAME    and those of the next revision up to one area
//
// HISTORY has 16 hexadecimal digits. The second form is for a write that has events of
// several areas: their order is that of the store, by rank (0: it leaves the area, 1: all
// else) and name, which is in base64url. A revision alone is taken, too.

// position is up to where events were sent: a revision, and the history that counts
// it (store.WatchOptions), and what was sent of the next revision.
type position struct {
	revision, history uint64
	next              mark
}

// mark is an event among those of one revision; zero: it is before all of them.
type mark struct {
	some  bool
	enter bool // or another kind than Exit
	name  string
}

func markOf(e *store.Event) mark { return mark{true, e.Kind != store.Exit, e.Name} }

// compare orders the events of one revision as the store gives them.
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

// moveTo is when all events up to a revision were sent.
func (p *position) moveTo(revision uint64) {
	if p.revision != revision {
		p.revision, p.next = revision, mark{}
	}
}

// moveAfter is when an event was sent, and all before it.
func (p *position) moveAfter(e *store.Event) {
	p.revision, p.next = e.Resume, mark{}
	if e.Resume < e.Revision {
		p.next = markOf(e)
	}
}

// has reports whether an event was sent.
func (p *position) has(e *store.Event) bool {
	return p.next.some && e.Revision == p.revision+1 && markOf(e).compare(p.next) <= 0
}
