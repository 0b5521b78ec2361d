package policy

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Mailbox holds the newest heartbeat of a connection. Safe for concurrent
// use.
type Mailbox interface {
	// Pending reports whether Take may return a heartbeat: a load or two.
	Pending() bool
	// Take returns the newest heartbeat if it was not taken yet.
	Take() (Load, bool)
}

// Engine carries out the plans of a policy for the searches of one client,
// and counts and times them. Safe for any number of goroutines.
//
// A plan is published as four atomics. A search that reads some of one plan
// and some of the next is treated as one a moment earlier or later.
//
//	forever    1 + path, if the plan never ends
//	left       searches that may begin before the engine looks at the clock
//	share      the threshold of a sample
//	heartbeat  the mailbox is looked into before each search
type Engine struct {
	forever   atomic.Uint32
	left      atomic.Int64
	share     atomic.Uint64
	heartbeat atomic.Bool
	seed      atomic.Uint64 // of the samples under this grant

	finished   [2]atomic.Uint64 // searches, by path
	heartbeats atomic.Uint64

	policy  Policy
	name    string
	learner Learner // policy, or nil
	shared  bool    // learner has a lock of its own
	group   *Group
	now     func() time.Time

	mu      sync.Mutex
	plan    Plan
	planned bool      // there is one
	granted int64     // value of left, when it was set
	begun   int       // searches under plan, except the granted ones
	looked  time.Time // at the clock
	load    Load
	fresh   bool
	ask     Ask // a field: elsewhere it would be garbage
}

// NewEngine carries out the plans of p by the clock now. g is the client's
// group; nil: a group of its own.
func NewEngine(p Policy, seed uint64, now func() time.Time, g *Group) *Engine {
	if g == nil {
		g = NewGroup()
	}
	e := &Engine{policy: p, name: p.Describe().Name, group: g, now: now}
	e.learner, _ = p.(Learner)
	_, e.shared = p.(ownLocker)
	e.seed.Store(mix(seed))
	if f, ok := p.(fixed); ok {
		e.forever.Store(1 + uint32(f.path))
	}
	g.add(e)
	return e
}

// Close takes the client out of its group. Its finished searches stay counted.
func (e *Engine) Close() { e.group.remove(e) }

// Choose decides the path of search s, and returns when it began if it is to
// be timed: Done takes both.
func (e *Engine) Choose(m Mailbox, s Search) (p Path, began time.Time) {
	if f := e.forever.Load(); f != 0 {
		return Path(f - 1), began
	}
	n := int64(-1)
	if !e.heartbeat.Load() || !m.Pending() {
		n = e.left.Add(-1)
	}
	for n < 0 {
		if at := e.renew(m, s); e.learner != nil {
			began = at
		}
		n = e.left.Add(-1)
	}
	return e.sample(n), began
}

// sample draws the path of one search: a hash of a number that no other
// search of the client has is compared with the share.
func (e *Engine) sample(n int64) Path {
	switch share := e.share.Load(); {
	case share == 0:
		return FastMessaging
	case share == allOffloaded || mix(e.seed.Load()+uint64(n))>>1 < share:
		return Offload
	}
	return FastMessaging
}

const allOffloaded = 1 << 63

// mix is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// The engine looks at the clock after each eighth of a plan, as far as the
// searches since its last look show; at least once in 64 searches, for a
// client that becomes slow.
const (
	looksPerPlan = 8
	mostUnseen   = 64
)

// renew looks at the clock and the mailbox, and asks the policy if its plan
// has ended. It returns the time, zero if another search was quicker.
func (e *Engine) renew(m Mailbox, s Search) (now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left.Load() > 0 && !(e.heartbeat.Load() && m.Pending()) {
		return now
	}
	now = e.now()
	begun := e.granted - max(e.left.Swap(0), 0)
	e.begun += int(begun)
	e.take(m)
	if e.over(now) {
		e.ask = Ask{Now: now, Load: &e.load, Fresh: e.fresh, Begun: e.begun, Search: s, Group: e.group}
		e.plan = e.policy.Plan(&e.ask)
		e.fresh, e.begun, e.planned, e.ask.Search = false, 0, true, nil
		e.publish()
	}
	e.granted = e.grant(now, begun)
	e.looked = now
	e.seed.Store(mix(e.seed.Load() + uint64(now.UnixNano())))
	e.left.Store(e.granted)
	return now
}

// over reports whether the plan has ended.
func (e *Engine) over(now time.Time) bool {
	p := &e.plan
	return !e.planned || p.Searches > 0 && e.begun >= p.Searches ||
		!p.Until.IsZero() && !now.Before(p.Until) || p.Heartbeat && e.fresh
}

// publish lets searches see a new plan.
func (e *Engine) publish() {
	p := &e.plan
	share := uint64(0)
	if p.Share >= 1 {
		share = allOffloaded
	} else if p.Share > 0 {
		share = uint64(p.Share * allOffloaded)
	}
	e.share.Store(share)
	e.heartbeat.Store(p.Heartbeat)
	if p.Searches <= 0 && p.Until.IsZero() && !p.Heartbeat && (share == 0 || share == allOffloaded) {
		e.forever.Store(1 + uint32(share/allOffloaded))
	}
}

// grant is how many searches may begin before the engine looks again; begun
// searches began since its last look.
func (e *Engine) grant(now time.Time, begun int64) int64 {
	n, p := int64(math.MaxInt64), &e.plan
	if !p.Until.IsZero() {
		rate := float64(begun) / float64(max(now.Sub(e.looked), 1))
		next := min(p.Until.Sub(e.ask.Now)/looksPerPlan, p.Until.Sub(now))
		n = 1 + int64(min(rate*float64(next), mostUnseen-1))
		n = min(n, 2*begun+1) // Two searches at once are no rate.
	}
	if p.Searches > 0 {
		n = min(n, int64(p.Searches-e.begun))
	}
	return max(n, 1)
}

// take looks into the mailbox. The caller holds the lock.
func (e *Engine) take(m Mailbox) {
	if load, ok := m.Take(); ok {
		e.heartbeats.Add(1)
		e.load, e.fresh = load, true
	}
}

// Done counts a search that has ended by a path, which may differ from the
// chosen one, and lets the policy observe its cost if it was timed.
func (e *Engine) Done(began time.Time, o Outcome, ended Path) {
	e.finished[ended].Add(uint64(o.Searches))
	if began.IsZero() {
		return
	}
	now := e.now()
	o.Took = now.Sub(began)
	if !e.shared {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	e.learner.Observe(now, o)
}

// ownLocker is a policy that the clients of a group share. It has a lock of
// its own, so it does not need the engine's.
type ownLocker interface{ ownLock() }

// Policy is the policy's name.
func (e *Engine) Policy() string { return e.name }

// Always returns the path of a policy that never changes it.
func (e *Engine) Always() (p Path, ok bool) {
	f, ok := e.policy.(fixed)
	return f.path, ok
}

// Finished is how many searches have ended by a path.
func (e *Engine) Finished(p Path) uint64 { return e.finished[p].Load() }

func (e *Engine) searches() uint64 { return e.Finished(FastMessaging) + e.Finished(Offload) }

// Heartbeats is the number taken from mailboxes.
func (e *Engine) Heartbeats() uint64 { return e.heartbeats.Load() }

// Last is the latest heartbeat and the policy's state, for people. m may be
// nil.
func (e *Engine) Last(m Mailbox) (Load, State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m != nil {
		e.take(m)
	}
	if e.fresh && e.heartbeat.Load() { // The next search asks the policy.
		e.granted -= max(e.left.Swap(0), 0)
	}
	return e.load, e.policy.Describe().State
}

// Why is the policy's explanation of its latest plan.
func (e *Engine) Why() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if why := e.policy.Describe().Why; why != "" {
		return why
	}
	return "policy " + e.name + " says so"
}

// YieldReads is the number of reads after which a client lets others run:
// some 20 us over shared memory, half the time of waking another thread.
// For small searches that is one in sixteen; a core that switches clients
// for each search finds nothing in its caches.
const YieldReads = 64
