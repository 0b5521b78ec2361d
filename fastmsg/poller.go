package fastmsg

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// poll is the Caller's goroutine: it reads the response ring, passes the
// answers to the calls, returns room in the ring, and sends requests that
// wait for room. It blocks only in Wait, so the server can always deliver
// its answers: the argument in sendring.go requires that the reader reads.
//
// When no answers are left, it leaves polling to the callers for a
// while (lead.go).
func (c *Caller) poll() {
	defer close(c.stopped)
	defer c.qp.Close() // ends the peer's side, too; memory is freed by Close
	worked := false
	for {
		select {
		case <-c.done:
			return
		default:
		}
		n, tail := c.cq.Poll(c.comps), c.in.tail
		if err := c.turn(c.comps[:n]); err != nil {
			c.fail(err)
			return
		}
		if n > 0 || c.in.tail != tail {
			worked = true
			continue
		}
		timeout := time.Duration(-1)
		if c.catchUp() {
			timeout = stallRetry
			if c.fetch != nil && !c.fetch.sync {
				c.postFetch()
			}
		} else if worked || c.in.placed { // Wait does not watch memory
			worked = false
			c.rest()
			if c.in.placed {
				runtime.Gosched()
			}
			continue
		} else if c.fetch != nil {
			poll := false
			if timeout, poll = c.fetchOrChange(); poll {
				worked = true
				continue
			}
		}
		err := c.cq.Wait(context.Background(), timeout)
		if err != nil && !errors.Is(err, rdma.ErrTimeout) {
			c.fail(err)
			return
		}
	}
}

// turn handles the events of one poll. Answers that were announced before the
// connection was lost are still delivered.
func (c *Caller) turn(comps []rdma.Completion) error {
	var lost error
	room, answered := false, int32(0)
	for i := range comps {
		comp := &comps[i]
		if comp.Status != rdma.StatusOK {
			lost = comp.Err()
			break
		}
		if comp.Op == rdma.OpRead {
			n, err := c.takeFetched()
			if err != nil {
				return err
			}
			answered += n
			continue
		}
		if comp.Op != rdma.OpRecv {
			continue
		}
		if comp.Imm&returnBit != 0 {
			if err := c.roomReturned(comp.Imm &^ returnBit); err != nil {
				return err
			}
			room = true
		} else if err := c.in.announce(comp.Imm); err != nil {
			return err
		}
	}
	if room && lost == nil {
		c.mu.Lock()
		c.admitLocked()
		c.flushLocked()
		c.mu.Unlock()
	}
	if c.in.placed && lost == nil {
		if _, err := c.in.arrived(); err != nil {
			return err
		}
	}
	n, err := c.takeWritten()
	if err != nil {
		return err
	}
	if answered += n; answered > 0 {
		c.lastAnswered.Store(answered)
	}
	if lost != nil {
		return lost
	}
	if c.fetch != nil {
		c.changeWay()
	}
	return c.giveBack()
}

// roomReturned handles the server's message that it has read units of its ring.
func (c *Caller) roomReturned(units uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetch != nil {
		return c.out.returnedTo(units, unitsBits)
	}
	return c.out.returned(units)
}

// takeWritten takes what the server has written into the response ring, and returns
// how many answers are complete.
func (c *Caller) takeWritten() (answered int32, err error) {
	for {
		m, size, ok, err := c.in.next()
		if err != nil || !ok {
			return answered, err
		}
		switch m.Flags {
		case FlagWhere:
			err = c.foundWhere(m.Payload)
		case FlagMailbox:
			err = c.toMailbox(m.Payload)
		default:
			var end bool
			if end, err = c.deliver(m); end {
				answered++
			}
		}
		if err != nil {
			return answered, err
		}
		c.in.consume(size)
	}
}

// deliver adds a message to the answer of its call. end reports whether the
// answer is complete.
func (c *Caller) deliver(m Message) (end bool, err error) {
	i, gen := uint32(m.ID), uint32(m.ID>>32)
	if int64(i) >= int64(len(c.slots)) {
		return false, protocolError("answer to call %#x, which was never made", m.ID)
	}
	s := &c.slots[i]
	end = m.Flags == FlagEnd
	s.mu.Lock()
	if s.gen != gen || s.state != slotOpen && s.state != slotAbandoned {
		s.mu.Unlock()
		return false, protocolError("answer to call %#x, which is not open", m.ID)
	}
	if s.state == slotAbandoned {
		if end {
			s.state = slotFree
			if c.fetch != nil {
				c.fetch.given.Add(-1)
			}
		}
		s.mu.Unlock()
		if end {
			c.free.put(i)
		}
		return end, nil
	}
	switch {
	case s.err != nil:
	case len(s.buf)-s.base+len(m.Payload) > c.maxAnswer:
		s.err = answerTooLarge(c.maxAnswer)
	default:
		s.buf = append(s.buf, m.Payload...)
	}
	if end {
		s.kind = m.Kind
		s.state = slotAnswered
		c.lead.open.Add(-1)
	}
	began, bytes := s.began, len(s.buf)-s.base
	s.mu.Unlock()
	if end {
		if c.fetch != nil {
			c.noteAnswer(began, bytes)
		}
		s.wake <- struct{}{}
	}
	return end, nil
}

// giveBack returns the head of the response ring if that is due. A full
// queue is not an error: catchUp tries again.
func (c *Caller) giveBack() error {
	if c.fetch != nil && c.fetch.say != 0 {
		if err := c.say(); err != nil {
			return err
		}
	}
	imm := c.in.due()
	if imm == 0 {
		return nil
	}
	c.credit[0] = rdma.WorkRequest{Op: rdma.OpWriteImm, Unsignaled: true, Imm: imm}
	switch _, err := c.qp.Post(c.credit[:]); {
	case err == nil:
		c.in.gaveBack(imm)
	case !errors.Is(err, rdma.ErrQueueFull):
		return err
	}
	return nil
}

// catchUp retries what a full queue prevented, or a caller in flushLocked
// left undone, and reports whether it must be called again soon.
func (c *Caller) catchUp() (again bool) {
	c.mu.Lock()
	if c.stalled {
		c.stalled = false
		c.flushLocked()
		again = c.stalled
	}
	c.mu.Unlock()
	if err := c.giveBack(); err != nil {
		c.fail(err)
	}
	return again || c.in.due() != 0 || c.fetch != nil && c.fetch.say != 0
}
