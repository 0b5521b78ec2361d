package catfish

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// Requests that take long
//
// A search, count or nearest that visits more than soonNodes nodes is made in
// steps (rstar.Scan), and its answer is sent in pieces:
//
//	searching    --step--> ... --step--> found     what is found is held, and
//	                                               counts against the budget
//	sending      --piece-> ... --piece-> done      each piece gives its part back
//
// A worker makes one step in each turn (fastmsg.Conn.Continue), and its other
// clients' requests go between. A plain socket has a goroutine of its own;
// there the steps of all sockets take turns (steps), so that they leave cores
// to the workers.

const (
	// soonNodes is how many nodes a request may visit at once, and stepNodes
	// how many in each step: 50 to 150 us (rstar.Scan.Step).
	soonNodes = 512
	stepNodes = 512
	// soonNearest is the largest k of a nearest that is answered at once: it
	// visits some 20 nodes.
	soonNearest = 64

	// DefaultMaxResults bounds one answer: 168 MB.
	DefaultMaxResults = 1 << 22
)

// pieces is a search in steps: *rstar.Scan, or nearestScan.
type pieces interface {
	Step(nodes int) (done bool)
	Err() error
	Count() int
	Take() []rstar.Item // what was found, piece by piece, nil after the last
	Held() int          // bytes of memory
	Close()
}

// long is what is left to do of a request.
type long struct {
	req   request
	scan  pieces       // nil for a check
	many  int          // of a searchMany: how many searches it has; scan is the first
	found bool         // the search has ended
	next  []rstar.Item // the piece to send next
	held  int64        // of scan.Held, counted in the budget
}

// bytes is the size of the answer, once it is found.
func (l *long) bytes() int {
	if l.req.kind == kindCount {
		return 8
	}
	return 4*l.many + l.scan.Count()*itemBytes
}

// holder counts bytes against a budget: *fastmsg.Conn.
type holder interface {
	Hold(n int64) error
	Unhold(n int64)
}

// step continues the search, and reports whether it has ended. If it fails the
// request has failed.
func (l *long) step(s *Server, h holder) (found bool, err error) {
	l.found = l.scan.Step(stepNodes)
	if err := l.req.coll.gone(); err != nil {
		return true, err
	}
	if err := l.scan.Err(); err != nil {
		return true, err
	}
	if n := l.scan.Count(); l.req.kind != kindCount && n > s.opts.MaxResults {
		return true, s.tooLarge()
	}
	if l.found {
		l.next = l.scan.Take()
	}
	return l.found, l.count(h)
}

// tooLarge says that a search finds too much.
func (s *Server) tooLarge() error {
	return fmt.Errorf("%w: more than %d objects; ask for a smaller rectangle, or for the first ones by a limit",
		ErrTooLarge, s.opts.MaxResults)
}

// count makes the budget agree with what is held.
func (l *long) count(h holder) error {
	held := int64(l.scan.Held())
	if more := held - l.held; more > 0 {
		if err := h.Hold(more); err != nil {
			return err
		}
	} else {
		h.Unhold(-more)
	}
	l.held = held
	return nil
}

// piece appends the next piece of the answer to out, and reports whether it is
// the last.
func (l *long) piece(h holder, out []byte) (_ []byte, last bool) {
	if l.req.kind == kindCount {
		return binary.LittleEndian.AppendUint64(out, uint64(l.scan.Count())), true
	}
	if l.many > 0 {
		out = binary.LittleEndian.AppendUint32(out, uint32(l.scan.Count()))
		for ; l.many > 1; l.many-- {
			out = binary.LittleEndian.AppendUint32(out, unanswered)
		}
		l.many = 0
	}
	for _, it := range l.next {
		out = appendItem(out, it)
	}
	l.next = l.scan.Take()
	_ = l.count(h) // It only shrinks.
	return out, l.next == nil
}

// end gives everything back.
func (l *long) end(h holder) {
	l.scan.Close()
	h.Unhold(l.held)
	l.held = 0
}

// goOn makes a step, or sends a piece, of a request that c has to do.
func (h *handler) goOn(c *fastmsg.Conn, id uint64, l *long) (done bool) {
	if !l.found {
		found, err := l.step(h.s, c)
		if err != nil {
			c.Respond(kindFailure, id, appendFailure(h.out[:0], err, 0))
			h.ends(c, l)
			return true
		}
		if found {
			h.serves(c)
			h.recordRead(&l.req, l.scan.Count())
		}
		return false
	}
	out, last := l.piece(c, h.out[:0])
	h.out = out
	if !last {
		c.RespondPart(kindReply, id, out)
		return false
	}
	c.Respond(kindReply, id, out)
	h.ends(c, l)
	return true
}

// begins has a request answered in steps.
func (h *handler) begins(c *fastmsg.Conn, id uint64, l *long) {
	if l.req.kind == kindCheck {
		h.beginCheck(c, id, l.req.coll.tree)
		return
	}
	c.Context.(*peer).long = l
	c.Continue(func() bool { return h.goOn(c, id, l) })
}

// beginCheck has a tree checked by another goroutine, since that is one long
// step.
func (h *handler) beginCheck(c *fastmsg.Conn, id uint64, t *rstar.Tree) {
	var ended chan error
	c.Continue(func() bool {
		if ended == nil {
			ended = make(chan error, 1)
			c.Park()
			h.s.serving.Go(func() {
				ended <- h.s.checks.run(t)
				c.Resume()
			})
			return false
		}
		if err := <-ended; err != nil {
			c.Respond(kindFailure, id, appendFailure(nil, err, 0))
		} else {
			c.Respond(kindReply, id, nil)
		}
		return true
	})
}

// ends is called when a request in steps is done, or its connection has ended.
func (h *handler) ends(c *fastmsg.Conn, l *long) {
	l.end(c)
	c.Context.(*peer).long = nil
}

// turns lets as many goroutines make a step at a time as there is room for: half
// of the cores, so that workers find one.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// search makes the steps of l, in turn with others.
func (t turns) search(s *Server, l *long, h holder) error {
	for found := false; !found; {
		t <- struct{}{}
		var err error
		found, err = l.step(s, h)
		<-t
		if err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}
