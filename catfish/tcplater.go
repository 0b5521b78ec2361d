package catfish

import (
	"fmt"
	"net"
	"sync"

	"github.com/catfish-index/catfish/fastmsg"
)

// Answers of a plain socket that are given later
//
// The socket's goroutine reads requests and answers them, one after the other.
// One that is answered later (later.go) it only begins. Its answer may come at
// any time, from any goroutine, in whole frames between other whole frames. So
// the socket has an owner, who alone may write:
//
//	reader   reads, serves | owns: writes, flushes | reads, serves | owns ...
//	others      respond: nobody owns it: a goroutine owns it and writes
//	            respond: somebody owns it: the frame waits
//	            respond: another frame waits
//
// Nobody gives up the socket while frames wait (disown, under mu), and who adds
// one while nobody owns it has a goroutine own it (respond, under mu): so none
// is forgotten, and the answers to a group of writes share a system call, or that
// of the reader's own answers. respond never waits for the client.
//
// The reader owns the socket from its first byte of an answer up to the flush.
// That is not while it serves a request, unless answers to others that were
// pipelined with it wait for the same flush; but while it sends a long answer.
//
// Each request under way has a slot, which is used again. Its turn is greater
// then: an answer that comes twice finds that.
//
// What is under way counts against the account until it is written or dropped.
// The account is closed when the connection has ended (end) and all that was
// under way is answered.
type socketAnswers struct {
	c       net.Conn
	out     *pacedWriter // the owner's
	account tcpAccount

	mu      sync.Mutex
	free    sync.Cond // owned is false
	owned   bool
	slots   []socketSlot
	vacant  []uint32 // slots
	waiting []byte   // frames to be written
	held    int64    // for them
	spare   []byte   // waiting, when it is written
	err     error    // why the connection is lost
	ended   bool
}

// socketSlot is a request under way.
type socketSlot struct {
	id   uint64
	held int64
	turn uint32
}

const (
	// laterFrame is the longest answer that counts when its request begins; the
	// account counts what is longer when it comes.
	laterFrame = 128
	// socketLaterBytes is what a request under way takes: a slot, its place in
	// vacant, and its answer, for which the frames that wait may have grown to
	// twice their length.
	socketLaterBytes = 64 + 2*laterFrame
	// keptFrames is how much of the frames' memory a socket keeps, twice.
	keptFrames = 4 << 10
)

func newSocketAnswers(c net.Conn, out *pacedWriter, account tcpAccount) *socketAnswers {
	a := &socketAnswers{c: c, out: out, account: account}
	a.free.L = &a.mu
	out.answers = a
	return a
}

// socketLater takes the answer to one request.
type socketLater struct {
	of         *socketAnswers
	slot, turn uint32
}

// later returns where the answer to request id goes.
func (a *socketAnswers) later(id uint64, keeps int) (socketLater, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.slots) - len(a.vacant); n >= maxLater {
		return socketLater{}, fmt.Errorf("%w: %d requests of one connection wait for their answers, limit %d", ErrBusy, n, maxLater)
	}
	held := int64(socketLaterBytes + keeps)
	if err := a.account.Hold(held); err != nil {
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

// respond is lateAnswer.respond.
func (l socketLater) respond(kind fastmsg.Kind, p []byte) bool {
	a := l.of
	kind, p = fitReply(kind, p)
	more := int64(2 * max(0, frameBytes+len(p)-laterFrame))
	err := a.account.Hold(more)
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &a.slots[l.slot]
	if s.turn != l.turn {
		if err == nil {
			a.account.Unhold(more)
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
	a.waiting = appendFrame(a.waiting, kind, s.id, p)
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
	a.account.Unhold(a.held)
	a.waiting, a.held = nil, 0
	if a.ended && len(a.vacant) == len(a.slots) {
		a.account.Close()
	}
}

// own waits until nobody else owns the socket.
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
// call. What they held is given back: they are the owner's now.
func (a *socketAnswers) take() []byte {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b, held := a.takeLocked()
	a.account.Unhold(held)
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
		a.account.Unhold(held)
		a.mu.Lock()
		if err != nil {
			a.failLocked(err)
			a.dropLocked()
		}
	}
	a.owned = false
	a.free.Signal()
}

// end ends the connection. mine tells that the caller owns the socket. It
// returns why the connection was lost, nil: not known here.
func (a *socketAnswers) end(mine bool) error {
	a.c.Close()
	if !mine {
		a.own() // The write of another fails now.
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	why := a.err
	a.failLocked(net.ErrClosed)
	a.ended, a.owned = true, false
	a.dropLocked()
	return why
}
