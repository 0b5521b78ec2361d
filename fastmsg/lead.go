package fastmsg

import (
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/spin"
)

// The lead
//
// One goroutine at a time has the lead: it polls the completion queue, reads
// the response ring and distributes the answers. That is the Caller's own
// goroutine (poller.go), which can sleep; or, while that goroutine rests, a
// caller that waits for its answer anyway. Then a single call needs no other
// goroutine, and no switch to another one and back, which over shared memory
// would be a third of its time.
//
//	            call, CAS               answered, no call waits
//	resting ---------------> led ------------------------------> resting
//	   |                      |  answered, others wait; or it takes long
//	   | idle, or the end     v
//	   +------------------> own <--- (resume)
//	   ^                      |
//	   +----------------------+ all answered, no call waits
//
// While the goroutine rests and no caller leads, the completion queue is not
// polled. So the goroutine rests for at most restFor after the last call, and
// then waits in the queue, which reports a lost connection and uses no CPU.
//
// Callers lead only where Post and Poll do all the work themselves
// (SynchronousOps). Elsewhere answers come from other goroutines, which a
// spinning caller would delay.
type lead struct {
	state  atomic.Uint32
	open   atomic.Int32  // slots in slotOpen or slotWaiting
	led    atomic.Uint64 // times that a caller had the lead
	resume chan struct{} // a token: the goroutine has the lead again

	able  bool        // callers may lead
	timer *time.Timer // used by the goroutine only

	// Used by the caller that has the lead.
	spin  spin.Spinner
	look  func() bool // lookOnce; stored, as a method value allocates
	slot  *slot       // of its own call
	bad   error       // why the connection ended
	later bool        // the goroutine must try something again
}

const (
	leadOwn     = iota // the Caller's goroutine leads
	leadResting        // no goroutine leads, until there is a call
	leadCaller         // a caller leads
)

// restFor is short enough for a lost connection to be noticed in time, and long
// enough that the timer costs a busy caller nothing.
const restFor = time.Millisecond

func (c *Caller) initLead(able bool) {
	c.lead.able = able
	c.lead.resume = make(chan struct{}, 1)
	c.lead.look = c.lookOnce
}

// rest gives up the lead until the goroutine is needed again. It returns at
// once if a call waits for an answer.
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
		return // that call may have begun before the state was resting
	}
	for {
		select {
		case <-l.resume:
			return
		case <-c.done:
			if !l.state.CompareAndSwap(leadResting, leadOwn) {
				<-l.resume // a caller leads, and will notice the end
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

// tryLead takes the lead, if no goroutine has it, until the answer to the call
// in s is complete, or there is work that a caller cannot do.
func (c *Caller) tryLead(s *slot) {
	l := &c.lead
	if !l.able || !l.state.CompareAndSwap(leadResting, leadCaller) {
		return
	}
	l.led.Add(1)
	l.slot, l.bad, l.later = s, nil, false
	if !l.spin.Spin(l.look) && c.fetch != nil {
		c.tooLate()
		l.later = c.catchUp()
	}
	l.slot = nil
	if l.bad != nil {
		c.fail(l.bad)
	}
	if !l.later && !c.needed() {
		l.state.Store(leadResting)
		// A call that began after the check of open found the lead taken,
		// and waits for its answer.
		if !c.needed() || !l.state.CompareAndSwap(leadResting, leadCaller) {
			return
		}
	}
	l.state.Store(leadOwn)
	l.resume <- struct{}{}
}

// resumeOwn ends the rest of the goroutine, which must retry what a full
// queue refused. While it rests, waking the queue has no effect on it.
func (c *Caller) resumeOwn() {
	l := &c.lead
	if l.able && l.state.CompareAndSwap(leadResting, leadOwn) {
		l.resume <- struct{}{}
	}
}

// needed reports whether a call waits, or the connection is lost.
func (c *Caller) needed() bool { return c.lead.open.Load() != 0 || c.lost.Load() }

// lookOnce does one round of the poller's loop, and reports whether the caller
// must stop leading.
func (c *Caller) lookOnce() bool {
	l := &c.lead
	n := c.cq.Poll(c.comps)
	if n == 0 && c.fetch != nil && c.postFetch() {
		n = c.cq.Poll(c.comps)
	}
	if n == 0 && !c.in.begun() {
		return c.lost.Load()
	}
	if l.bad = c.turn(c.comps[:n]); l.bad != nil {
		return true
	}
	if c.fetch != nil && c.fetch.tries.Late() {
		c.tooLate()
	}
	l.later = c.catchUp()
	return l.later || len(l.slot.wake) > 0
}
