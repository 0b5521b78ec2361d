package catfish

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

// crowd is who is counted: the clients of one server.
type crowd struct {
	census *Census
	users  int // guarded by crowds

	mu      sync.Mutex
	members map[*counters]struct{}
	gone    uint64 // finished by clients that are closed
}

var crowds = struct {
	sync.Mutex
	of map[crowdKey]*crowd
}{of: map[crowdKey]*crowd{}}

// crowdKey is who has something to tell each other: what is worth offloading
// depends on the transport, and on whether nodes are kept.
type crowdKey struct {
	addr, transport string
	fabric          Fabric
	cached          bool
}

// joinCrowd has n counted among the clients of k until leave is called.
func joinCrowd(k crowdKey, n *counters) (census *Census, leave func()) {
	crowds.Lock()
	defer crowds.Unlock()
	c := crowds.of[k]
	if c == nil {
		c = &crowd{members: map[*counters]struct{}{}}
		c.census = NewCensus(c.total)
		crowds.of[k] = c
	}
	c.users++
	c.mu.Lock()
	c.members[n] = struct{}{}
	c.mu.Unlock()
	return c.census, sync.OnceFunc(func() {
		crowds.Lock()
		defer crowds.Unlock()
		c.mu.Lock()
		c.gone += n.searches()
		delete(c.members, n)
		c.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(crowds.of, k)
		}
	})
}

func (c *crowd) total() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.gone
	for n := range c.members {
		sum += n.searches()
	}
	return sum
}

// searches is how many have finished, either way.
func (n *counters) searches() uint64 { return n.fast.Load() + n.offloaded.Load() }
