package server

import (
	"fmt"
	"net"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// Replies of a plain socket
//
// The socket's goroutine, the reader, reads requests and answers them in order.
// If a request is answered by a reply (task.go), the reader only begins it. The
// reply may come at any time, from any goroutine, in whole frames between other
// whole frames. So the socket has an owner, which alone may write:
//
//	reader   reads, serves | owns: writes, flushes | reads, serves | owns ...
//	others      respond: socket has no owner: a goroutine owns it and writes
//	            respond: socket has an owner: the frame waits
//	            respond: another frame waits
//
// The owner keeps the socket while frames wait (disown, under mu), and a respond
// that finds no owner starts a goroutine as owner (respond, under mu): so no frame
// is forgotten, and the answers to a group of writes share a system call, or that
// of the reader's own answers. respond never waits for the client.
//
// The reader owns the socket from its first byte of an answer up to the flush. It
// does not own it while it serves a request, unless answers to others that were
// pipelined with it wait for the same flush. It does while it sends a long answer.
//
// Each in-flight request has a slot, which is reused with a greater turn: respond
// compares turns, and ignores the second reply to a request.
//
// The memory of in-flight requests counts against the account until the reply is
// written or dropped. The account is closed when the connection has ended (end) and
// all in-flight requests are answered.
type socketAnswers struct {
	c       net.Conn
	out     *pacedWriter // the owner's
	account *limits.Account

	mu      sync.Mutex
	free    sync.Cond // owned is false
	owned   bool
	slots   []socketSlot
	vacant  []uint32 // slots
	waiting []byte   // frames to be written
	held    int64    // for waiting
	spare   []byte   // the next waiting, while its frames are written
	err     error    // why the connection is lost
	ended   bool
}

// socketSlot is an in-flight request.
type socketSlot struct {
	id   uint64
	held int64
	turn uint32
}

const (
	// laterFrame is how much of a reply the account counts when its request begins;
	// it counts the rest of a longer reply when that comes.
	laterFrame = 128
	// socketLaterBytes is the memory of an in-flight request: a slot, its place in
	// vacant, and its reply, for which the waiting frames may have grown to twice
	// their length.
	socketLaterBytes = 64 + 2*laterFrame
	// keptFrames is how much of the frames' memory a socket keeps, twice.
	keptFrames = 4 << 10
)

func newSocketAnswers(c net.Conn, out *pacedWriter, account *limits.Account) *socketAnswers {
	a := &socketAnswers{c: c, out: out, account: account}
	a.free.L = &a.mu
	out.answers = a
	return a
}

// socketLater takes the reply to one request.
type socketLater struct {
	of         *socketAnswers
	slot, turn uint32
}

// later returns where the reply to request id goes.
func (a *socketAnswers) later(id uint64, keeps int) (socketLater, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.slots) - len(a.vacant); n >= maxLater {
		return socketLater{}, fmt.Errorf("%w: %d requests of one connection wait for their answers, limit %d", model.ErrBusy, n, maxLater)
	}
	held := int64(socketLaterBytes + keeps)
	if err := a.account.Take(held); err != nil {
		return socketLater{}, fmt.Errorf("requests under way: %w", err)
	}
	if len(a.vacant) == 0 {
		a.vacant = append(a.vacant, uint32(len(a.slots)))
		a.slots = append(a.slots, socketSlot{})
	}
	i := a.vacant[len(a.vacant)-1]
	a.vacant = a.vacant[:len(a.vacant)-1]
	s := &a.slots[i]
	s.id, s.held = id, held
	return socketLater{a, i, s.turn}, nil
}

// respond is reply.respond.
func (l socketLater) respond(kind fastmsg.Kind, p []byte) bool {
	a := l.of
	kind, p = wire.FitReply(kind, p)
	more := int64(2 * max(0, wire.FrameBytes+len(p)-laterFrame))
	err := a.account.Take(more)
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.slots[l.slot]
	if s.turn != l.turn {
		if err == nil {
			a.account.Give(more)
		}
		return false
	}
	s.turn++
	a.vacant = append(a.vacant, l.slot)
	if err != nil {
		more = 0
		a.failLocked(fmt.Errorf("answers that wait: %w", err))
	}
	if a.held += s.held + more; a.err != nil {
		a.dropLocked()
		return true
	}
	a.waiting = wire.AppendFrame(a.waiting, kind, s.id, p)
	if !a.owned {
		a.owned = true
		go a.disown()
	}
	return true
}

// over reports whether the connection has ended.
func (a *socketAnswers) over() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil || a.ended
}

// failLocked ends the connection.
func (a *socketAnswers) failLocked(err error) {
	if a.err == nil {
		a.err = err
		a.c.Close()
	}
}

// dropLocked drops the frames that wait.
func (a *socketAnswers) dropLocked() {
	a.account.Give(a.held)
	a.waiting, a.held = nil, 0
	if a.ended && len(a.vacant) == len(a.slots) {
		a.account.Close()
	}
}

// own waits until the socket has no owner, and makes the caller its owner.
func (a *socketAnswers) own() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.owned {
		a.free.Wait()
	}
	a.owned = true
}

// take returns the frames that wait, for the owner to write before its next
// call. Their memory is given back to the account: the frames are the owner's now.
func (a *socketAnswers) take() []byte {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b, held := a.takeLocked()
	a.account.Give(held)
	return b
}

func (a *socketAnswers) takeLocked() (b []byte, held int64) {
	b, held = a.waiting, a.held
	a.waiting, a.spare, a.held = a.spare[:0], b, 0
	if cap(b) > keptFrames {
		a.spare = nil
	}
	return b, held
}

// disown writes the frames that wait, until there are none, and gives up the
// socket.
func (a *socketAnswers) disown() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiting) > 0 {
		b, held := a.takeLocked()
		a.mu.Unlock()
		_, err := a.out.Write(b)
		a.out.done()
		a.account.Give(held)
		a.mu.Lock()
		if err != nil {
			a.failLocked(err)
			a.dropLocked()
		}
	}
	a.owned = false
	a.free.Signal()
}

// end ends the connection. mine means that the caller owns the socket. end
// returns why the connection was lost, nil: not known here.
func (a *socketAnswers) end(mine bool) error {
	a.c.Close()
	if !mine {
		a.own() // The write of another owner fails now.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	why := a.err
	a.failLocked(net.ErrClosed)
	a.ended, a.owned = true, false
	a.dropLocked()
	return why
}
