package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
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
// A worker makes one step in each turn (fastmsg.Conn.Continue), and serves its other
// clients' requests between two steps. A plain socket has a goroutine of its own. All
// their long requests, and the searches of gRPC, share scheduling slots (internal/limits),
// so that they leave processors to the other requests. A request whose client has no room
// for a piece gives up its slot until there is room.

const (
	// soonNodes is how many nodes a request may visit at once: 50 to 150 us
	// (rstar.Scan.Step).
	soonNodes = 512
	// nodeTime is the time of a node in a step, and stepNodes how many nodes a step
	// visits where no worker limits its time.
	nodeTime  = 200 * time.Nanosecond
	stepNodes = 512

	// DefaultMaxResults bounds one answer: 168 MB.
	DefaultMaxResults = 1 << 22
)

// pieces is a search in steps: *rstar.Scan, or nearestScan.
type pieces interface {
	Step(nodes int) (done bool)
	Err() error
	Count() int
	Take() []rstar.Item // the results, piece by piece, nil after the last
	Held() int          // bytes of memory
	Close()
}

// long is the rest of a request.
type long struct {
	req   request
	scan  pieces        // nil if apart is set
	apart func() result // carries the request out, and may wait (apart.go)
	items []byte        // of an insertMany that is carried out apart
	value *largeValue   // of a get, if that is set (recordlargeget.go)
	many  int           // of a searchMany: how many searches; scan is the first
	found bool          // the search has ended
	next  []rstar.Item  // the piece to send next
	held  int64         // bytes of scan.Held, counted in the budget
	turn  *limits.Slot  // scheduling slot, for the steps of a worker
}

// bytes is the size of the answer, once the search has ended.
func (l *long) bytes() int {
	if l.req.kind == wire.KindCount {
		return 8
	}
	return 4*l.many + l.scan.Count()*wire.ItemBytes
}

// step visits up to nodes more nodes, and reports whether the search has ended. If step
// fails, the request has failed.
func (l *long) step(s *Server, h limits.Holder, nodes int) (found bool, err error) {
	l.found = l.scan.Step(nodes)
	if err := l.req.coll.gone(); err != nil {
		return true, err
	}
	if err := l.scan.Err(); err != nil {
		return true, err
	}
	if n := l.scan.Count(); l.req.kind != wire.KindCount && n > s.opts.MaxResults {
		return true, s.tooLarge()
	}
	if l.found {
		l.next = l.scan.Take()
	}
	return l.found, limits.Hold(h, s, &l.held, int64(l.scan.Held()))
}

// tooLarge returns the error of a search that finds too much.
func (s *Server) tooLarge() error {
	return fmt.Errorf("%w: more than %d objects; ask for a smaller rectangle, or for the first ones by a limit",
		model.ErrTooLarge, s.opts.MaxResults)
}

// piece appends the next piece of the answer to out, and reports whether it is
// the last.
func (l *long) piece(h limits.Holder, out []byte) (_ []byte, last bool) {
	if l.req.kind == wire.KindCount {
		return binary.LittleEndian.AppendUint64(out, uint64(l.scan.Count())), true
	}
	if l.many > 0 {
		out = binary.LittleEndian.AppendUint32(out, uint32(l.scan.Count()))
		for ; l.many > 1; l.many-- {
			out = binary.LittleEndian.AppendUint32(out, wire.Unanswered)
		}
		l.many = 0
	}
	for _, it := range l.next {
		out = wire.AppendItem(out, it)
	}
	l.next = l.scan.Take()
	_ = limits.Hold(h, nil, &l.held, int64(l.scan.Held())) // The held bytes only shrink.
	return out, l.next == nil
}

// end gives all held bytes back.
func (l *long) end(h limits.Holder) {
	l.leave()
	if l.scan != nil {
		l.scan.Close()
	}
	h.Give(l.held)
	l.held = 0
}

// goOn makes a step, or sends a piece, of c's request.
func (h *handler) goOn(c *fastmsg.Conn, id uint64, l *long, within time.Duration) (done bool) {
	if !h.hasTurn(c, l) {
		return false
	}
	if !l.found {
		found, err := l.step(h.s, c, int(within/nodeTime))
		if err != nil {
			c.Respond(wire.KindFailure, id, wire.AppendFailure(h.out[:0], err, 0))
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
		c.RespondPart(wire.KindReply, id, out)
		if c.Waits() {
			l.leave()
		}
		return false
	}
	c.Respond(wire.KindReply, id, out)
	h.ends(c, l)
	return true
}

// begins starts to answer a request in steps.
func (h *handler) begins(c *fastmsg.Conn, id uint64, l *long) {
	if l.apart != nil {
		h.beginApart(c, id, l)
		return
	}
	c.Context.(*peer).long = l
	if l.value != nil {
		c.Continue(func(time.Duration) bool { return h.goOnValue(c, id, l) })
		return
	}
	c.Continue(func(within time.Duration) bool { return h.goOn(c, id, l, within) })
}

// ends is called when a request in steps is done, or its connection has ended.
func (h *handler) ends(c *fastmsg.Conn, l *long) {
	l.end(c)
	c.Context.(*peer).long = nil
}

// hasTurn reports whether l may make a step now. Otherwise it parks c until
// then.
func (h *handler) hasTurn(c *fastmsg.Conn, l *long) bool {
	if l.turn != nil && l.turn.Over() {
		l.leave()
	}
	if l.turn == nil {
		var now bool
		if l.turn, now = h.s.turns.Join(c.Source(), c.Resume); !now {
			c.Park()
			return false
		}
	}
	return true
}

// leave ends l's scheduling slot, if there is one.
func (l *long) leave() {
	if l.turn != nil {
		l.turn.Leave()
		l.turn = nil
	}
}

// search makes the steps of l in scheduling slots.
func (s *Server) search(from string, l *long, h limits.Holder) (err error) {
	for found := false; !found && err == nil; {
		step := func() { found, err = l.step(s, h, stepNodes) }
		if e := s.turns.RunStep(s.ctx, from, step); e != nil {
			return e
		}
	}
	return err
}

// RunStep calls step, which may take about a tenth of a millisecond, when its source
// gets a scheduling slot of the server's long requests; sources, such as hosts, alternate.
// It is for other services of the process, such as gRPC. The error is the cause of the
// end of ctx, if that comes first.
func (s *Server) RunStep(ctx context.Context, source string, step func()) error {
	return s.turns.RunStep(ctx, source, step)
}
