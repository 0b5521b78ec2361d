package server

import (
	"context"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
)

// Large answers
//
// A task with steps makes its answer in steps, and sends it in pieces:
//
//	making    --step--> ... --step--> ready     what is found is held, and
//	                                            counts against the budget
//	sending   --piece-> ... --piece-> done      each piece gives its part back
//
// A worker makes one step or sends one piece in each turn (fastmsg.Conn.Continue), and
// serves its other clients' requests between two. A step that is too long for a turn is
// made by another goroutine, and the connection is parked meanwhile. The goroutine of a
// plain socket makes each step in a scheduling slot. A task whose client has no room for
// a piece gives up its slot until there is room.

// steps is the work of such a task.
type steps interface {
	// step works on the answer, for about the time of some nodes of a tree, and reports
	// whether the answer is ready. If step fails, the request has failed.
	step(nodes int) (ready bool, err error)
	// longStep reports whether a step takes longer than a worker's turn.
	longStep() bool
	// memory is how many bytes it holds, and needs for the next step.
	memory() int64
	// bytes is the size of the answer, once it is ready.
	bytes() int
	// piece appends the next piece of the answer, and reports whether it is the last.
	piece(out []byte) (_ []byte, last bool)
	close()
}

const (
	// soonNodes is how many nodes a request may visit at once: 50 to 150 us
	// (rstar.Scan.Step).
	soonNodes = 512
	// nodeTime is the time of a node in a step, and stepNodes how many nodes a step
	// visits where no worker limits its time.
	nodeTime  = 200 * time.Nanosecond
	stepNodes = 512
)

// hold counts the memory of the steps.
func (t *task) hold(h limits.Holder) error { return limits.Hold(h, t.s, &t.kept, t.steps.memory()) }

// step makes a step, and counts what it found.
func (t *task) step(h limits.Holder, nodes int) (err error) {
	if err = t.advance(nodes); err == nil {
		err = t.hold(h)
	}
	return err
}

// advance makes a step. An answer that is ready counts if the member of a group may be read.
func (t *task) advance(nodes int) (err error) {
	if t.ready, err = t.steps.step(nodes); err == nil && t.ready {
		err = t.read.Err()
	}
	return err
}

// piece appends the next piece to out, and gives its memory back.
func (t *task) piece(h limits.Holder, out []byte) (_ []byte, last bool) {
	out, last = t.steps.piece(out)
	_ = limits.Hold(h, nil, &t.kept, t.steps.memory()) // It only shrinks.
	return out, last
}

// release ends the steps, and gives all memory back.
func (t *task) release(h limits.Holder) {
	t.leave()
	t.steps.close()
	h.Give(t.kept)
	t.kept = 0
}

// leave ends the slot, if there is one.
func (t *task) leave() {
	if t.slot != nil {
		t.slot.Leave()
		t.slot = nil
	}
}

// inSlot calls step in a scheduling slot.
func (s *Server) inSlot(source string, step func() error) (err error) {
	if e := s.turns.RunStep(s.ctx, source, func() { err = step() }); e != nil {
		return e
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
