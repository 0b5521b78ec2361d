package api

import (
	"fmt"
	"time"

	"google.golang.org/grpc/status"
)

// How long a call waits for its client
//
//	headers      message                  answer
//	   |------------|                       |--|    |--|
//	   late, then idle    works: no timer   idle    idle
//
// Most requests arrive with their headers, and that is all the handler waits
// for. So the other timer is made only when it is needed.

// slowRequest is the delay after which a request that has not arrived counts as
// slow. Before that, at most as much of it has arrived as the network carries in
// this time. From then on it takes the largest message of its budget.
const slowRequest = time.Second

// idleError is about a peer that made no progress.
type idleError struct{ limit time.Duration }

func (e *idleError) Error() string {
	return fmt.Sprintf("the client neither sent nor took a message for %v", e.limit)
}

// statusWriter is gRPC's transport of a call. Any goroutine may write the
// status, and the first status counts. It ends the stream and every wait on it.
type statusWriter interface {
	WriteStatus(s *status.Status) error
}

// await sets the stream from which the handler waits for the request from now
// on; nil: none. The error says why the server has ended the call.
func (c *call) await(stream statusWriter) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = stream
	return c.why
}

// isLate takes room for the largest request, because this one is slow.
func (c *call) isLate() {
	if c.hasArrived() {
		return
	}
	g := c.gate
	if g.idle <= slowRequest {
		c.end(&idleError{g.idle})
		return
	}
	if err := c.account.Take(g.messageBytes); err != nil {
		c.end(overBudget(g.answers, ReasonBusy, busyRetry, err))
		return
	}
	c.mu.Lock()
	c.slow = true
	arrived := c.arrived
	if !arrived {
		c.waitFor(g.idle - slowRequest)
	}
	c.mu.Unlock()
	if arrived {
		c.account.Give(g.messageBytes)
	}
}

// waitIdle ends the call if the handler waits for too long before stopTimers. False:
// the request has not arrived, which has its own timer, or there are no bounds.
func (c *call) waitIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.arrived || c.gate == nil {
		return false
	}
	c.waitFor(c.gate.idle)
	return true
}

// waitFor ends the call after d, unless the timer is stopped. c.mu is held.
func (c *call) waitFor(d time.Duration) {
	if c.idle == nil {
		c.idle = time.AfterFunc(d, func() { c.end(&idleError{c.gate.idle}) })
		return
	}
	c.idle.Reset(d)
}

// stopTimers is called when the call no longer waits for its client.
func (c *call) stopTimers() {
	if c.late != nil {
		c.late.Stop()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		c.idle.Stop()
	}
}

func (c *call) hasArrived() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrived
}

// arrive records that the request has arrived, or that the handler itself
// counts what arrives.
func (c *call) arrive() {
	c.mu.Lock()
	gives := c.slow && !c.arrived
	c.arrived = true
	c.mu.Unlock()
	c.stopTimers()
	if gives {
		c.account.Give(c.gate.messageBytes)
	}
}
