package server

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// Large values of a Get, at the server
//
// A value of more than mostValue is answered alone, in steps, as a long search is
// (long.go): another goroutine copies it, in scheduling slots that it shares with
// other tasks; then it is sent in pieces, as the client takes them.
//
//	asked    k0 k1 k2 k3, the value of k2 is large
//	answer   k0 k1, and k2, k3 unanswered; the client asks for these again
//	answer   k2 in pieces, and k3 unanswered
//
// The copy is of one record: kv.Map.Get compares references before and after, and
// begins again if the record was replaced meanwhile. So values are never mixed, and
// the client needs no rule against mixing. The copy's memory counts against the
// budget of answers until the last piece is sent.

const (
	// largePiece is how much is sent at once: it takes a worker 10 us.
	largePiece = 64 << 10
	// maxGrown is how often a value may be found to have grown while it waited
	// for its slot, before the request is refused.
	maxGrown = 8
)

// largeValue is an answer with a large value.
type largeValue struct {
	coll *collection
	key  []byte
	keys int // number of keys in the request: this is the first
	room int // the longest value that fits

	reading chan error // the goroutine that copies has ended
	grown   int
	read    bool // found and value are the answer
	err     error
	found   wire.Found
	value   []byte
	at      int // bytes of the value that are sent
	begun   bool
}

// getRecords carries out a get, or leaves it in v.rest if its first value is large.
func (v *service) getRecords(c *collection, n uint32, p, out []byte) ([]byte, error) {
	out, err := v.records.answer(c, n, p, out)
	if err != nil || v.records.large == 0 {
		return out, err
	}
	key, _, err := wire.CutKey(p)
	if err == nil {
		v.rest = &long{value: &largeValue{coll: c, key: bytes.Clone(key), keys: int(n), room: v.records.large}}
	}
	return out[:0], err
}

// hold reserves the memory that the copy needs.
func (l *largeValue) hold(of *long, s *Server, h limits.Holder) error {
	if l.room > s.mostValue() {
		return s.valueTooLarge(model.ErrTooLarge, l.room)
	}
	if l.grown > maxGrown {
		return fmt.Errorf("%w: the value of %q grew %d times while it waited for its turn", model.ErrBusy, l.key, maxGrown)
	}
	if err := limits.CheckMemory(s, int64(l.room)); err != nil {
		return err
	}
	need := int64(l.room) + record.MaxBlockBytes // the block is for reading the head
	if err := limits.Hold(h, nil, &of.held, need); err != nil {
		return fmt.Errorf("value of %d bytes: %w", l.room, err)
	}
	return nil
}

// copy reads the value. Neither read nor err is set if it has grown.
func (l *largeValue) copy() {
	b := kv.Buffer{LongestValue: l.room}
	v, _, err := l.coll.records.Get(l.key, &b)
	if gone := l.coll.gone(); gone != nil {
		err = gone
	}
	switch {
	case errors.Is(err, kv.ErrNotFound):
		l.read = true
	case err != nil:
		l.err = err
	case v.ValueBytes > l.room:
		l.room, l.grown = v.ValueBytes, l.grown+1
	default:
		l.read, l.found, l.value = true, foundOf(&v), v.Value
	}
}

// bytes is the size of the answer.
func (l *largeValue) bytes() int { return l.keys*wire.FoundBytes + len(l.value) }

// piece appends the next piece of the answer, and reports whether it is the last.
func (l *largeValue) piece(out []byte) (_ []byte, last bool) {
	if !l.begun {
		out = l.found.Append(out)
		l.begun = true
	}
	n := min(largePiece, len(l.value)-l.at)
	out = append(out, l.value[l.at:l.at+n]...)
	if l.at += n; l.at < len(l.value) {
		return out, false
	}
	for none := (wire.Found{ValueBytes: wire.Unanswered}); l.keys > 1; l.keys-- {
		out = none.Append(out)
	}
	return out, true
}

// goOnValue starts the copy of a value, or sends a piece.
func (h *handler) goOnValue(c *fastmsg.Conn, id uint64, l *long) (done bool) {
	v := l.value
	fail := func(err error) bool {
		c.Respond(wire.KindFailure, id, wire.AppendFailure(h.out[:0], err, 0))
		h.ends(c, l)
		return true
	}
	if v.reading != nil {
		err := <-v.reading
		if v.reading = nil; err == nil {
			err = v.err
		}
		if err != nil {
			return fail(err)
		}
	}
	if !v.read {
		if err := v.hold(l, h.s, c); err != nil {
			return fail(err)
		}
		ended, source := make(chan error, 1), c.Source()
		v.reading = ended
		c.Park()
		h.s.serving.Go(func() {
			ended <- h.s.turns.RunStep(h.s.ctx, source, v.copy)
			c.Resume()
		})
		return false
	}
	if !h.hasTurn(c, l) {
		return false
	}
	out, last := v.piece(h.out[:0])
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

// sendValue sends a large value over a plain socket.
func (w *tcpWork) sendValue(id uint64, l *long, h limits.Holder) error {
	defer l.end(h)
	v := l.value
	for !v.read {
		err := v.hold(l, w.s, h)
		if err == nil {
			err = w.s.turns.RunStep(w.s.ctx, w.source(), v.copy)
		}
		if err == nil {
			err = v.err
		}
		if err != nil {
			return w.to.write(wire.KindFailure, id, wire.AppendFailure(nil, err, 0), true)
		}
	}
	w.to.begin(wire.KindReply, id, v.bytes())
	for last := false; !last; {
		w.out, last = v.piece(w.out[:0])
		if err := w.to.push(w.out); err != nil {
			return err
		}
	}
	return w.to.flush() // gives up the socket
}
