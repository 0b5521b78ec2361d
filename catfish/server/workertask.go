package server

import (
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// begin begins a task of a worker's connection.
func (h *handler) begin(c *fastmsg.Conn, id uint64, t *task) {
	if t.steps != nil {
		c.Context.(*peer).task = t
		c.Continue(func(within time.Duration) bool { return h.goOn(c, id, t, within) })
		return
	}
	l, err := c.Later(id, t.keeps)
	if err != nil {
		c.Respond(wire.KindFailure, id, wire.AppendFailure(h.out[:0], err, t.done))
		return
	}
	if t.begin(reply{ring: l}, &h.writes); h.writes.Len() >= maxWrites {
		h.writes.Submit()
	}
}

// maxWrites of a turn go to the commit queue together: half a millisecond of work
// for a worker that is the commit leader.
const maxWrites = 128

// TurnEnds queues the writes of a turn.
func (h *handler) TurnEnds() bool {
	any := h.writes.Len() > 0
	h.writes.Submit()
	return any
}

// goOn makes a step of c's task, or sends a piece.
func (h *handler) goOn(c *fastmsg.Conn, id uint64, t *task, within time.Duration) (done bool) {
	var err error
	switch {
	case t.long != nil:
		err = <-t.long
		t.long = nil
	case !t.ready && t.steps.longStep():
		if err = t.hold(c); err == nil {
			h.stepElsewhere(c, t)
		}
	case !h.hasSlot(c, t):
	case !t.ready:
		err = t.step(c, int(within/nodeTime))
	default:
		out, last := t.piece(c, h.out[:0])
		if h.out = out; last {
			c.Respond(wire.KindReply, id, out)
			h.ends(c, t)
			return true
		}
		if c.RespondPart(wire.KindReply, id, out); c.Waits() {
			t.leave()
		}
	}
	if err != nil {
		c.Respond(wire.KindFailure, id, wire.AppendFailure(h.out[:0], err, 0))
		h.ends(c, t)
	}
	return err != nil
}

// stepElsewhere parks c until another goroutine has made a step.
func (h *handler) stepElsewhere(c *fastmsg.Conn, t *task) {
	ended, source := make(chan error, 1), c.Source()
	t.long = ended
	c.Park()
	h.s.serving.Go(func() {
		ended <- h.s.inSlot(source, func() error { return t.advance(stepNodes) })
		c.Resume()
	})
}

// ends is called when a task with steps is done, or its connection has ended.
func (h *handler) ends(c *fastmsg.Conn, t *task) {
	t.release(c)
	c.Context.(*peer).task = nil
}

// hasSlot reports whether t may make a step now. Otherwise it parks c until then.
func (h *handler) hasSlot(c *fastmsg.Conn, t *task) bool {
	if t.slot != nil && t.slot.Over() {
		t.leave()
	}
	if t.slot == nil {
		var now bool
		if t.slot, now = h.s.turns.Join(c.Source(), c.Resume); !now {
			c.Park()
			return false
		}
	}
	return true
}
