package web

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
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
// Of several groups:
//
//	GROUPS                        all events up to a revision of each (placement.WatchPosition)
//	GROUPS.GROUP-RANK+NAME        and those of the next revision of one, by its place there
//
// GROUPS begins with a letter, as its first byte is 1.

// position is the end of the sent events: a revision, the history that counts it
// (store.WatchOptions), and the last event sent of the next revision. Of several groups, groups
// has the revisions and histories, and next is of one group.
type position struct {
	revision, history uint64
	groups            *placement.WatchPosition // nil: one
	group             int
	next              mark
}

// from is where a watch begins that continues.
func (p position) from() whole.From {
	from := whole.From{WatchOptions: store.WatchOptions{From: p.revision, History: p.history}, Groups: p.groups}
	if p.groups != nil && p.next.some {
		from.Amid = p.group + 1
	}
	return from
}

// looked is the revision of the group of next.
func (p position) looked() uint64 {
	switch {
	case p.groups == nil:
		return p.revision
	case p.group < len(p.groups.Groups):
		return p.groups.Groups[p.group].Revision
	}
	return 0
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
	if p.groups != nil {
		if s = p.groups.String(); p.next.some {
			s += fmt.Sprintf(".%d", p.group)
		}
	}
	if p.next.some {
		s += fmt.Sprintf("-%d%s", p.next.rank(), base64.RawURLEncoding.EncodeToString([]byte(p.next.name)))
	}
	return s
}

func positionOf(text string) (p position, err error) {
	if text != "" && (text[0] < '0' || text[0] > '9') {
		return groupsPositionOf(text)
	}
	revision, history, both := strings.Cut(text, "-")
	history, next, all := strings.Cut(history, "-")
	if p.revision, err = strconv.ParseUint(revision, 10, 64); err == nil && both {
		p.history, err = strconv.ParseUint(history, 16, 64)
	}
	if err != nil || !all {
		return p, err
	}
	p.next, err = markOfText(next)
	return p, err
}

func groupsPositionOf(text string) (p position, err error) {
	groups, next, some := strings.Cut(text, ".")
	if p.groups, err = placement.ParseWatchPosition(groups); err != nil || !some {
		return p, err
	}
	group, next, _ := strings.Cut(next, "-")
	if p.group, err = strconv.Atoi(group); err == nil && (p.group < 0 || p.group >= len(p.groups.Groups)) {
		err = errors.New("no such group")
	}
	if err == nil {
		p.next, err = markOfText(next)
	}
	return p, err
}

func markOfText(next string) (mark, error) {
	if next == "" || next[0] != '0' && next[0] != '1' {
		return mark{}, errors.New("no rank")
	}
	name, err := base64.RawURLEncoding.DecodeString(next[1:])
	return mark{true, next[0] == '1', string(name)}, err
}

// moveTo moves the position to where a follower is, after all events that it has given.
func (p *position) moveTo(f *whole.Follower) {
	was := p.looked()
	p.revision, p.groups = f.At, f.Position()
	if p.looked() != was {
		p.next = mark{}
	}
}

// moveAfter moves the position after an event that a follower gives, and all before the event.
func (p *position) moveAfter(f *whole.Follower, e *store.Event) {
	p.revision, p.groups, p.group, p.next = f.At, f.Position(), f.Group(), mark{}
	if e.Resume < e.Revision {
		p.next = markOf(e)
	}
}

// has reports whether an event of a group is before the position, and so was sent.
func (p *position) has(group int, e *store.Event) bool {
	return p.next.some && group == p.group && e.Revision == p.looked()+1 && markOf(e).compare(p.next) <= 0
}
