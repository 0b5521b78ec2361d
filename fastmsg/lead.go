package fastmsg

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/spin"
)

// Who reads the answers
//
// One goroutine at a time has the lead: it polls the queue, reads the
// response ring and hands the answers out. It is the Caller's own (poller.go),
// which can sleep, or, while that rests, a caller that waits for its answer
// anyway: one call at a time then takes no other goroutine, and no switch to
// one and back, which is a third of what it takes over shared memory.
//
//	            call, CAS               answered, nobody waits
//	resting ---------------> led ------------------------------> resting
//	   |                      |  answered, others wait; or it takes long
//	   | idle, or the end     v
//	   +------------------> own <--- (resume)
//	   ^                      |
//	   +----------------------+ answers handed out, nobody waits
//
// Nobody looks at the queue while the goroutine rests. So it rests for
// restFor at most since the last call, and then waits in the queue as if it
// never had: that tells of a lost connection, and takes no time.
//
// Only where Post and Poll do all the work themselves (SynchronousOps): else
// answers come by other goroutines, and who spins holds them up.
type lead struct {
	state  atomic.Uint32
	open   atomic.Int32  // slots in slotOpen or slotWaiting
	led    atomic.Uint64 // times that a caller had the lead
	resume chan struct{} // a token: the goroutine has the lead again

	able  bool
	timer *time.Timer // the goroutine's own

	// Of who has the lead.
	spin  spin.Spinner
	look  func() bool // lookOnce, made once: no allocation per call
	slot  *slot       // whose answer the leading caller waits for
	bad   error       // what ended the connection
	later bool        // something is to be tried again, by the goroutine
}

const (
	leadOwn     = iota // the Caller's goroutine
	leadResting        // nobody, until somebody calls
	leadCaller
)

// restFor is short enough for a lost connection to be noticed as soon as by
// others, long enough that a busy caller's timer is nothing.
const restFor = time.Millisecond

func (c *Caller) initLead(able bool) {
	c.lead.able = able
	c.lead.resume = make(chan struct{}, 1)
	c.lead.look = c.lookOnce
}

// rest gives the lead away until the goroutine is needed again. It returns
// at once if somebody waits for an answer.
func (c *Caller) rest() {
	l := &c.lead
	if !l.able || l.open.Load() != 0 {
		return
	}
	if l.timer == nil {
		l.timer = time.NewTimer(restFor)
	} else {
		l.timer.Reset(restFor)
	}
	defer l.timer.Stop()
	led := l.led.Load()
	l.state.Store(leadResting)
	if l.open.Load() != 0 && l.state.CompareAndSwap(leadResting, leadOwn) {
		return // it came before it could see that nobody leads
	}
	for {
		select {
		case <-l.resume:
			return
		case <-c.done:
			if !l.state.CompareAndSwap(leadResting, leadOwn) {
				<-l.resume // a caller leads, and will see that it is over
			}
			return
		case <-l.timer.C:
			now := l.led.Load()
			if now == led && l.state.CompareAndSwap(leadResting, leadOwn) {
				return
			}
			led = now
			l.timer.Reset(restFor)
		}
	}
}

// tryLead has the caller of s lead until its answer is there, or something
// is to be done that it cannot.
func (c *Caller) tryLead(s *slot) {
	l := &c.lead
	if !l.able || !l.state.CompareAndSwap(leadResting, leadCaller) {
		return
	}
	l.led.Add(1)
	l.slot, l.bad, l.later = s, nil, false
	l.spin.Spin(l.look)
	l.slot = nil
	if l.bad != nil {
		c.fail(l.bad)
	}
	if !l.later && !c.needed() {
		l.state.Store(leadResting)
		// Who came after the look at open saw a leader, and waits.
		if !c.needed() || !l.state.CompareAndSwap(leadResting, leadCaller) {
			return
		}
	}
	l.state.Store(leadOwn)
	l.resume <- struct{}{}
}

// resumeOwn ends the goroutine's rest: a Wake of the queue does not reach it
// there, and what a full queue refused is its to try again.
func (c *Caller) resumeOwn() {
	l := &c.lead
	if l.able && l.state.CompareAndSwap(leadResting, leadOwn) {
		l.resume <- struct{}{}
	}
}

// needed reports whether somebody waits, or the connection is to be ended.
func (c *Caller) needed() bool { return c.lead.open.Load() != 0 || c.lost.Load() }

// lookOnce is one turn of the poller's loop, and whether it was the last.
func (c *Caller) lookOnce() bool {
	l := &c.lead
	n := c.cq.Poll(c.comps)
	if n == 0 {
		return c.lost.Load()
	}
	if l.bad = c.turn(c.comps[:n]); l.bad != nil {
		return true
	}
	l.later = c.catchUp()
	return l.later || len(l.slot.wake) > 0
}
