package fastmsg

import (
	"fmt"
	"sync/atomic"
)

// later is a request that is answered later, and then its answer. later.go
// describes its ownership. It fills two cache lines, including a small answer.
type later struct {
	turn    atomic.Uint64 // how many requests it has answered
	conn    *Conn
	id      uint64
	held    int64 // bytes taken from conn.account
	payload []byte
	err     error // why the answer cannot be sent: the connection fails
	kind    Kind
	small   [55]byte // where payload begins
}

const (
	// keepAnswer is the longest answer that a later keeps room for.
	keepAnswer = 512
	// laterBytes is what a later takes at most between two requests.
	laterBytes = 128 + keepAnswer
	// keepLaters is how many free laters a worker keeps: 16 connections with
	// 256 in flight, 2.6 MB at most.
	keepLaters = 4096
	// turnAnswers is how many answers a worker takes in a turn, so that a tick
	// and other clients wait no longer for them than for a share (shareTime).
	turnAnswers = 256
)

// answers is the worker's part of the requests that are answered later. Only its loop uses
// it.
type answers struct {
	free []*later
	now  []*later // taken over from Worker.answered
	next int      // in now: the first that is not sent
}

func (a *answers) empty() bool { return a.next == len(a.now) }

// newLater returns a free later.
func (w *Worker) newLater() *later {
	if n := len(w.late.free); n > 0 {
		l := w.late.free[n-1]
		w.late.free = w.late.free[:n-1]
		return l
	}
	l := new(later)
	l.payload = l.small[:0]
	return l
}

// pushAnswer hands an answer to the worker.
func (w *Worker) pushAnswer(l *later) {
	w.mu.Lock()
	if w.over {
		l.settle()
		w.mu.Unlock()
		return
	}
	w.answered = append(w.answered, l)
	wake := w.asleep
	w.asleep = false
	w.mu.Unlock()
	if wake {
		w.cq.Wake()
	}
}

// maySleep reports whether no answer has come since takeOver. Then the next one
// wakes the worker.
func (w *Worker) maySleep() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asleep = len(w.answered) == 0
	return w.asleep
}

// takeAnsweredLocked takes over what was answered, unless some of the last
// take-over is left.
func (w *Worker) takeAnsweredLocked() {
	w.asleep = false
	if a := &w.late; a.empty() {
		a.now, w.answered, a.next = w.answered, a.now[:0], 0
	}
}

// giveAnswers puts the answers of this turn into the rings of their clients,
// and lists these clients for their share.
func (w *Worker) giveAnswers() {
	a := &w.late
	for end := min(len(a.now), a.next+turnAnswers); a.next < end; a.next++ {
		l := a.now[a.next]
		a.now[a.next] = nil
		c := l.conn
		if l.err != nil {
			c.Fail(fmt.Errorf("answers that wait: %w", l.err))
		}
		c.Respond(l.kind, l.id, l.payload)
		l.settle()
		w.freeLater(l)
	}
}

// settle returns the bytes that l counts for. The caller is the worker's loop
// or, after the loop has ended, holds Worker.mu.
func (l *later) settle() {
	c := l.conn
	c.account.Give(l.held)
	c.later--
	c.closeAccount()
}

// freeLater returns a settled later to the free list.
func (w *Worker) freeLater(l *later) {
	l.conn, l.err, l.payload = nil, nil, l.payload[:0]
	if cap(l.payload) > keepAnswer {
		l.payload = l.small[:0]
	}
	if len(w.late.free) < keepLaters {
		w.late.free = append(w.late.free, l)
	}
}

// dropAnswers drops all answers that were not sent, and makes Respond drop later ones.
func (w *Worker) dropAnswers() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, l := range w.late.now[w.late.next:] {
		l.settle()
	}
	for _, l := range w.answered {
		l.settle()
	}
	w.late, w.answered = answers{}, nil
}
