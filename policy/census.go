package policy

import (
	"sync"
	"time"
)

// A Census tells policies how many searches finished by a certain time, all
// clients of this process at one server together. They share cores and a
// card: what one of them gains may be what the others lose, and only the sum
// shows it.
//
//	border b0        b1        b2           times that policies agree on
//	   ---|---------|---------|-----> time
//	      ^a        ^a        ^a            first to ask about it: it counts
//
// Who asks about a border first, just after it, counts for all: they compare
// the same numbers, and counters of many clients are read but once.
//
// Safe for any number of goroutines.
type Census struct {
	total func() uint64

	mu     sync.Mutex
	marks  [censusMarks]censusMark
	next   int
	latest time.Time
	climb  *climb // of policy cost, which its clients share
}

// censusLate is how much older than another's a caller's clock may be: it looked
// at it before it got here. If it is older by more the clock was set back, and
// these borders come again.
const censusLate = time.Millisecond

// censusMarks is how many borders are remembered: of the one epoch length that
// most clients have and of two others, begin and end.
const censusMarks = 8

type censusMark struct {
	border   time.Time
	searches uint64
	at       time.Time
}

// NewCensus counts by total, which never falls.
func NewCensus(total func() uint64) *Census { return &Census{total: total} }

// At returns how many searches had finished at a time not before border, and
// that time; now is the caller's clock, at or after border.
func (c *Census) At(border, now time.Time) (searches uint64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest.Sub(now) > censusLate {
		c.marks = [censusMarks]censusMark{}
		c.latest = now
	} else if now.After(c.latest) {
		c.latest = now
	}
	for i := range c.marks {
		if m := &c.marks[i]; m.border.Equal(border) && !m.at.IsZero() {
			return m.searches, m.at
		}
	}
	m := &c.marks[c.next]
	c.next = (c.next + 1) % censusMarks
	*m = censusMark{border, c.total(), now}
	return m.searches, m.at
}

// climber returns what the policies that ask share.
func (c *Census) climber() *climb {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.climb == nil {
		c.climb = newClimb()
		c.climb.census = c
	}
	return c.climb
}

// Group is who is counted: the clients of one server.
type Group struct {
	census *Census
	users  int // guarded by Groups

	mu      sync.Mutex
	members map[*Engine]struct{}
	gone    uint64 // finished by clients that have left
}

// NewGroup is a group that is in no Groups: of a simulated process, say.
func NewGroup() *Group {
	g := &Group{members: map[*Engine]struct{}{}}
	g.census = NewCensus(g.total)
	return g
}

// Groups are those of a process, by what their members have in common: the
// address, say, and the transport. The zero value is empty.
type Groups struct {
	mu sync.Mutex
	of map[any]*Group
}

// Join returns the group of a key, which is comparable; leave is called when
// a member that was added to it leaves.
func (gs *Groups) Join(key any) (g *Group, leave func(*Engine)) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	g = gs.of[key]
	if g == nil {
		if gs.of == nil {
			gs.of = map[any]*Group{}
		}
		g = NewGroup()
		gs.of[key] = g
	}
	g.users++
	var once sync.Once
	return g, func(e *Engine) {
		once.Do(func() {
			gs.mu.Lock()
			defer gs.mu.Unlock()
			g.remove(e)
			if g.users--; g.users == 0 {
				delete(gs.of, key)
			}
		})
	}
}

func (g *Group) add(e *Engine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[e] = struct{}{}
}

func (g *Group) remove(e *Engine) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.members[e]; ok {
		g.gone += e.searches()
		delete(g.members, e)
	}
}

func (g *Group) total() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := g.gone
	for e := range g.members {
		sum += e.searches()
	}
	return sum
}
