package fastmsg

import (
	"context"
	"errors"
	"time"

	"github.com/catfish-index/catfish/rdma"
)

// poll is the Caller's goroutine: it reads the response ring, passes the
// answers to the calls, returns room in the ring, and sends requests that
// wait for room. It blocks only in Wait, so the server can always get rid of
// its answers: the argument in sendring.go requires that the reader reads.
//
// When no answers are left, it leaves this to the callers for a while
// (lead.go).
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
		n := c.cq.Poll(c.comps)
		if err := c.turn(c.comps[:n]); err != nil {
			c.fail(err)
			return
		}
		if n > 0 {
			worked = true
			continue
		}
		timeout := time.Duration(-1)
		if c.catchUp() {
			timeout = stallRetry
		} else if worked {
			worked = false
			c.rest()
			continue
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
	room := false
	for i := range comps {
		comp := &comps[i]
		if comp.Status != rdma.StatusOK {
			lost = comp.Err()
			break
		}
		if comp.Op != rdma.OpRecv {
			continue
		}
		if comp.Imm&returnBit != 0 {
			c.mu.Lock()
			err := c.out.returned(comp.Imm &^ returnBit)
			c.mu.Unlock()
			if err != nil {
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
	if c.in.unread() == 0 {
		return lost
	}
	answered := int32(0)
	for {
		m, size, ok, err := c.in.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		end, err := c.deliver(m)
		if err != nil {
			return err
		}
		if end {
			answered++
		}
		c.in.consume(size)
	}
	if answered > 0 {
		c.lastAnswered.Store(answered)
	}
	if lost != nil {
		return lost
	}
	return c.giveBack()
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
	s.mu.Unlock()
	if end {
		s.wake <- struct{}{}
	}
	return end, nil
}

// giveBack returns the head if that is due. A full queue is not an error:
// catchUp tries again.
func (c *Caller) giveBack() error {
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

// catchUp does what a full queue prevented, or a caller in flushLocked left
// undone, and reports whether that must be tried again soon.
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
	return again || c.in.due() != 0
}
