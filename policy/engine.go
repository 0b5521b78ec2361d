package policy

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/heartbeat"
)

// A Mailbox holds the newest heartbeat of a connection. Safe for concurrent
// use.
type Mailbox interface {
	// Pending reports whether Take may have something: a load or two.
	Pending() bool
	// Take returns the newest heartbeat if nobody has taken it yet.
	Take() (Load, bool)
}

// A Search is what is chosen for, as far as policies may look at it.
type Search interface {
	// Look fills e by what is known before the search begins; false: there
	// is nothing to look at.
	Look(e *Estimate) bool
}

// Engine asks a policy before the searches of one client and observes what
// they cost. Policies that never look at the server are recognised, and cost
// neither lock nor clock. Safe for any number of goroutines.
type Engine struct {
	always Policy // fixed path, or nil
	path   Path

	// settled is 1 + the path of all searches until a heartbeat arrives,
	// or 0: ask. Written under mu; who reads a value that is just being
	// replaced searches as one who came a moment earlier.
	settled atomic.Uint32

	// Of a Skipper: twice the number of searches that it need not be asked
	// about, plus their path; and how many such have finished since it was
	// told of one.
	skip, others atomic.Int64

	looked   atomic.Uint64 // searches by beatLooks, at the latest look into the mailbox
	until    atomic.Int64  // when a Rester's rest ends, by now
	finished [2]atomic.Uint64
	beats    atomic.Uint64

	mu       sync.Mutex
	policy   Policy
	learner  Learner   // policy, or nil
	looks    Estimator // policy, or nil
	glances  Glancer   // policy, or nil
	settler  Settler   // policy, or nil
	skipper  Skipper   // policy, or nil
	rester   Rester    // policy, or nil
	now      func() time.Time
	load     Load
	fresh    bool
	estimate Estimate
}

// NewEngine asks p, which belongs to it alone, by the clock now. What g's
// members finish is counted together; nil: there is nobody else.
func NewEngine(p Policy, now func() time.Time, g *Group) *Engine {
	c := &Engine{now: now, policy: p}
	if f, ok := c.policy.(fixed); ok {
		c.always, c.path = f, f.path
	}
	c.learner, _ = c.policy.(Learner)
	c.looks, _ = c.policy.(Estimator)
	c.glances, _ = c.policy.(Glancer)
	c.settler, _ = c.policy.(Settler)
	c.rester, _ = c.policy.(Rester)
	c.skipper, _ = c.policy.(Skipper)
	if g != nil {
		g.add(c)
		if p, ok := c.policy.(Counter); ok {
			p.Count(g.census)
		}
	}
	return c
}

// Policy's name.
func (c *Engine) Policy() string { return c.policy.Name() }

// Looks reports whether the policy looks at searches before it decides.
func (c *Engine) Looks() bool { return c.looks != nil }

// Always is the path of a policy that never changes it.
func (c *Engine) Always() (path Path, ok bool) { return c.path, c.always != nil }

// Finished is how many searches have ended by a path.
func (c *Engine) Finished(w Path) uint64 { return c.finished[w].Load() }

// Heartbeats is how many were taken from mailboxes.
func (c *Engine) Heartbeats() uint64 { return c.beats.Load() }

func (c *Engine) searches() uint64 { return c.finished[0].Load() + c.finished[1].Load() }

// Choose decides the path of search q, and returns when it began if anybody
// wants to know how long it takes. looked reports whether q was looked at.
func (c *Engine) Choose(m Mailbox, q Search) (path Path, began time.Time, looked bool) {
	if c.always != nil {
		return c.path, began, false
	}
	if w := c.settled.Load(); w != 0 && !c.mayHear(m) {
		return Path(w - 1), began, false
	}
	if c.skip.Load() > 1 && !c.mayHear(m) {
		if left := c.skip.Add(-2); left >= 0 {
			return Path(left & 1), began, false
		}
	}
	if c.learner != nil {
		began = c.now()
	}
	c.mu.Lock()
	c.takeBeat(m)
	var consumed bool
	if c.looks != nil {
		c.estimate = Estimate{}
		if c.glances == nil || c.glances.Glance() {
			looked = q.Look(&c.estimate)
		}
		path, consumed = c.looks.ChooseFor(c.now, &c.load, c.fresh, &c.estimate)
	} else {
		path, consumed = c.policy.Choose(c.now, &c.load, c.fresh)
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
	return path, began, looked
}

// beatLooks is how many searches go by for one that looks into the mailbox
// while a policy with a clock of its own rests or skips: each client has its
// own, a page and a line that 64 clients of a core find out of the caches.
const beatLooks = 8

// mayHear reports whether there is a heartbeat that the policy should hear
// before the search, or its rest has ended.
func (c *Engine) mayHear(m Mailbox) bool {
	if c.rester != nil {
		k := c.searches() / beatLooks // Searches made together count more than one.
		if k == c.looked.Load() {
			return false
		}
		c.looked.Store(k)
		// Without heartbeats, which a server that is left alone does not
		// send, nobody else would end it.
		if c.settled.Load() != 0 && c.now().UnixNano() >= c.until.Load() {
			return true
		}
	}
	return m.Pending()
}

// settle notes whether the policy need not be asked. A heartbeat that was
// taken and not consumed is one to ask about again; a learner is told of
// every search, so it is asked for every one, but while it rests.
func (c *Engine) settle() {
	settled := uint32(0)
	if c.settler != nil && (c.learner == nil || c.rester != nil) && !c.fresh {
		if path, ok := c.settler.Settled(); ok {
			settled = 1 + uint32(path)
		}
	}
	if settled != 0 && c.rester != nil {
		now := c.now()
		rest := c.rester.Rest(now)
		if c.until.Store(now.Add(rest).UnixNano()); rest <= 0 {
			settled = 0
		}
	}
	c.settled.Store(settled)
}

// Done counts a search that has ended by a path, and tells the policy what
// it cost. began is what Choose returned.
func (c *Engine) Done(began time.Time, o Outcome, ended Path) {
	c.finished[ended].Add(uint64(o.Searches))
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

// takeBeat looks into the mailbox. The lock is held.
func (c *Engine) takeBeat(m Mailbox) {
	load, fresh := m.Take()
	if !fresh {
		return
	}
	c.beats.Add(1)
	c.load, c.fresh = load, true
	// Also when taken for people, by Last.
	c.settled.Store(0)
	c.skip.Store(0)
}

// Last is the latest heartbeat and the policy's state, for people. m may be
// nil.
func (c *Engine) Last(m Mailbox) (Load, State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m != nil {
		c.takeBeat(m)
	}
	return c.load, c.policy.State()
}

// Why is the policy's own word on its latest choice.
func (c *Engine) Why() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.policy.(Explainer); ok {
		return p.Why()
	}
	return "policy " + c.policy.Name() + " says so"
}

// YieldReads is after how many reads a client lets others run: some 20 us
// over shared memory, half of what waking another thread takes. Of small
// searches it is one in sixteen; a core that goes from client to client for
// each finds nothing in its caches.
const YieldReads = 64

// LoadOf is what a heartbeat tells policies.
func LoadOf(b heartbeat.Beat) Load {
	return Load{
		Seq: b.Sequence, CPU: b.CPU, Busy: b.Busy, Waiting: uint64(b.Waiting),
		BytesOut: float64(b.BytesPerSecond), Interval: b.Interval,
	}
}
