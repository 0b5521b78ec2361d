package catfish

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/heartbeat"
)

// chooser asks the policy before each search. Policies that never look
// at the server are recognised, and cost neither lock nor clock.
type chooser struct {
	always Policy // fixed way, or nil
	way    Way

	// settled is 1 + the way of all searches until a heartbeat arrives,
	// or 0: ask. Written under mu; who reads a value that is just being
	// replaced searches as one who came a moment earlier.
	settled atomic.Uint32

	// Of a Skipper: twice the number of searches that it need not be asked
	// about, plus their way; and how many such have finished since it was
	// told of one.
	skip, others atomic.Int64

	looked atomic.Uint64 // searches by beatLooks, at the latest look into the mailbox

	mu      sync.Mutex
	policy  Policy
	learner Learner     // policy, or nil
	looks   Estimator   // policy, or nil
	glances Glancer     // policy, or nil
	settler Settler     // policy, or nil
	skipper Skipper     // policy, or nil
	rester  Rester      // policy, or nil
	rested  *time.Timer // ends a Rester's rest
	ended   bool        // end was called
	now     func() time.Time
	load    Load
	fresh   bool
}

func (c *chooser) init(sch scheme, opts Options) {
	c.now = time.Now
	c.policy = opts.Custom
	if c.policy == nil {
		c.policy = sch.policy(opts.Seed)
	}
	if f, ok := c.policy.(fixed); ok {
		c.always, c.way = f, f.way
	}
	c.learner, _ = c.policy.(Learner)
	c.looks, _ = c.policy.(Estimator)
	c.glances, _ = c.policy.(Glancer)
	c.settler, _ = c.policy.(Settler)
	c.rester, _ = c.policy.(Rester)
	c.skipper, _ = c.policy.(Skipper)
}

func (c *chooser) policyName() string { return c.policy.Name() }

// choose decides the way of query q in slab o, and returns when it began
// if anybody wants to know how long it takes.
func (c *chooser) choose(s *session, n *counters, q *query, o *slab) (way Way, began time.Time) {
	if c.always != nil {
		return c.way, began
	}
	if w := c.settled.Load(); w != 0 && !c.mayHear(s, n) {
		return Way(w - 1), began
	}
	if c.skip.Load() > 1 && !c.mayHear(s, n) {
		if left := c.skip.Add(-2); left >= 0 {
			return Way(left & 1), began
		}
	}
	if c.learner != nil {
		began = c.now()
	}
	c.mu.Lock()
	c.takeBeat(s, n)
	var consumed bool
	if c.looks != nil {
		q.estimate = Estimate{}
		if q.canLook(o) && (c.glances == nil || c.glances.Glance()) {
			q.look(o)
		}
		way, consumed = c.looks.ChooseFor(c.now, &c.load, c.fresh, &q.estimate)
	} else {
		way, consumed = c.policy.Choose(c.now, &c.load, c.fresh)
	}
	if consumed {
		c.fresh = false
	}
	if c.skipper != nil {
		n, w := c.skipper.Skip()
		c.skip.Store(2*int64(n) + int64(w&1))
	}
	c.settle()
	c.mu.Unlock()
	return way, began
}

// beatLooks is how many searches go by for one that looks into the mailbox
// while a policy with a clock of its own rests or skips: each client has its
// own, a page and a line that 64 clients of a core find out of the caches.
const beatLooks = 8

// mayHear reports whether there is a heartbeat that the policy should hear
// before the search.
func (c *chooser) mayHear(s *session, n *counters) bool {
	if c.rester != nil {
		k := n.searches() / beatLooks // Searches made together count more than one.
		if k == c.looked.Load() {
			return false
		}
		c.looked.Store(k)
	}
	return s.pending()
}

// settle notes whether the policy need not be asked. A heartbeat that was
// taken and not consumed is one to ask about again; a learner is told of
// every search, so it is asked for every one, but while it rests.
func (c *chooser) settle() {
	settled, rest := uint32(0), time.Duration(1)
	if c.settler != nil && (c.learner == nil || c.rester != nil) && !c.fresh {
		if way, ok := c.settler.Settled(); ok {
			settled = 1 + uint32(way)
			if c.rester != nil {
				rest = c.rester.Rest(c.now())
			}
		}
	}
	if rest <= 0 {
		settled = 0
	}
	c.settled.Store(settled)
	if settled == 0 || c.rester == nil || c.ended {
		return
	}
	// Without heartbeats, which a server that is left alone does not send,
	// nobody else would.
	if c.rested == nil {
		c.rested = time.AfterFunc(rest, func() { c.settled.Store(0) })
	} else {
		c.rested.Reset(rest)
	}
}

// end stops what the chooser has running.
func (c *chooser) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = true; c.rested != nil {
		c.rested.Stop()
	}
}

// observe tells the policy what a search cost.
func (c *chooser) observe(began time.Time, o Outcome) {
	switch {
	case c.learner == nil:
		return
	case began.IsZero(): // It was not asked.
		if c.skipper != nil && c.settled.Load() == 0 {
			c.others.Add(int64(o.Searches))
		}
		return
	}
	now := c.now()
	o.Others = int(c.others.Swap(0))
	o.Took = now.Sub(began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learner.Observe(now, o)
}

// pending reports whether there is a heartbeat to take, without the lock.
// Who looks is counted before retired is read, and retire waits for all who
// were: nobody looks at memory that is gone.
func (s *session) pending() bool {
	if s.mailbox == nil {
		return false
	}
	s.looking.Add(1)
	p := !s.retired.Load() && s.mailbox.Pending()
	s.looking.Add(-1)
	return p
}

// retire keeps everybody from a session's mailbox: its memory is about
// to go.
func (c *chooser) retire(s *session) {
	c.mu.Lock()
	s.retired.Store(true)
	c.mu.Unlock()
	for s.looking.Load() != 0 {
		runtime.Gosched() // it is for one load
	}
}

// takeBeat looks into the mailbox. The lock is held.
func (c *chooser) takeBeat(s *session, n *counters) {
	if s.mailbox == nil || s.retired.Load() {
		return
	}
	b, fresh := s.mailbox.Take()
	if !fresh {
		return
	}
	n.heartbeats.Add(1)
	c.load, c.fresh = loadOf(b), true
	// Also when taken for people, by lastLoad.
	c.settled.Store(0)
	c.skip.Store(0)
}

// lastLoad is the latest heartbeat, for people.
func (c *chooser) lastLoad(s *session, n *counters) (Load, PolicyState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != nil {
		c.takeBeat(s, n)
	}
	return c.load, c.policy.State()
}

func loadOf(b heartbeat.Beat) Load {
	return Load{
		Seq: b.Sequence, CPU: b.CPU, Busy: b.Busy, Waiting: uint64(b.Waiting),
		BytesOut: float64(b.BytesPerSecond), Interval: b.Interval,
	}
}
