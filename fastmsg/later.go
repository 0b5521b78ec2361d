package fastmsg

import "fmt"

// Answers that are given later
//
// A handler that has to wait for something, such as a disk, does not keep its
// worker: Serve calls Later, hands the Later that it gets to whoever will know
// the answer, and returns. Any goroutine then calls Respond, once:
//
//	worker      Serve: Later ... other requests, other clients ...  turn: sent
//	               |                                                  ^
//	               v                                                  |
//	others      the handler's queue ----> work ----> Respond ---> answered
//	                                                   wakes the worker, if it
//	                                                   sleeps: once for all
//
// Requests that follow on the same connection are served meanwhile, so answers
// come in any order. Clients find theirs by its id.
//
// # Who owns a later
//
// Behind a Later is a later, which the worker uses again for other requests.
// It goes round:
//
//	free      the worker's, in Worker.free
//	open      whoever has the Later: the answer is to come
//	answered  the one goroutine whose Respond made it so, until it puts it into
//	          Worker.answered; from then on the worker's, which sends the
//	          answer in a turn, and has it free again
//
// later.turn counts the rounds: Respond makes it greater by one, by
// compare-and-swap from the value that it had when the Later was made. So of
// many calls one succeeds, and one that comes in a later round finds a greater
// value: no answer is given twice, or to another request.
//
// # Why no answer is lost, and no wake-up missed
//
// Worker.answered and Worker.asleep are under Worker.mu. A worker goes to sleep
// only after it saw, under mu, that answered is empty, and set asleep in the
// same section. So an answer comes before that section, and the worker does not
// sleep; or after it, and its Respond finds asleep set. It clears asleep, so
// the answers behind it wake nobody, and calls Wake, which ends the present Wait
// or the next one. The worker takes over what is answered after each Wait, and
// clears asleep in the same section as it does so (takeOver). While it serves or
// polls, asleep is not set: then it comes by without being woken.
//
// # Connections and workers that end
//
// An answer to a connection that has ended is dropped when the worker takes it
// over. Respond must be called nevertheless: until then the connection's account
// stays open, so what is under way for clients that hang up counts as before.
// Run does not wait for answers. What is answered after Run is dropped by
// Respond itself, under mu: shutdown sets Worker.over in the section in which it
// drops what is there, so each answer is dropped by one of the two.
//
// # Bounds
//
// A connection has at most WorkerConfig.MaxLater of them. Each counts laterBytes
// and what the handler keeps for it against WorkerConfig.Budget, from Later until
// the answer is in the client's ring or in the backlog, and an answer longer than
// keepAnswer its own bytes, too. The backlog counts what waits there (slow.go).
//
// Rejected: taking over the caller's bytes in place of copying them. Copying 100
// bytes takes 5 ns, and a caller that cannot use them again makes garbage.

// Later is a request that is answered by Respond, from any goroutine. It is a
// small value, to be copied freely. The zero Later is no request's.
type Later struct {
	l    *later
	turn uint64 // of l, until the answer
}

// Later has request id answered later, in place of Respond. keeps is how many
// bytes the handler keeps for it meanwhile: they count against the worker's
// budget like those of Hold, until the answer is given. If it fails, with
// ErrBusy or an error of the budget, nothing is under way: the handler should
// refuse the request.
//
// Respond must be called for each Later, also if the connection has ended.
func (c *Conn) Later(id uint64, keeps int) (Later, error) {
	w := c.w
	if c.later == w.cfg.MaxLater {
		return Later{}, fmt.Errorf("%w: %d requests of one connection wait for their answers, limit %d",
			ErrBusy, c.later, w.cfg.MaxLater)
	}
	held := laterBytes + int64(max(0, keeps))
	if err := c.account.Take(held); err != nil {
		return Later{}, fmt.Errorf("requests under way: %w", err)
	}
	c.later++
	l := w.newLater()
	l.conn, l.id, l.held = c, id, held
	return Later{l, l.turn.Load()}, nil
}

// Hold takes n bytes more from the worker's budget, for what is kept for the request
// until the answer, and Unhold gives them back. Any goroutine may call them, before
// Respond.
func (a Later) Hold(n int64) error { return a.l.conn.account.Take(n) }

// Unhold gives back n bytes of what Hold took.
func (a Later) Unhold(n int64) { a.l.conn.account.Give(n) }

// Ended reports whether the connection has ended: nobody waits for the answer. Any
// goroutine may call it, before Respond, which is to be called nevertheless.
func (a Later) Ended() bool { return a.l.conn.over.Load() }

// Respond gives the answer. It copies the payload, and waits for nobody: the
// connection's worker sends the answer in its next turn. It may be called from
// any goroutine, also from the worker's. It reports whether this is the answer:
// false if there was one before, which stays. If the connection has ended, the
// answer is dropped.
func (a Later) Respond(kind Kind, payload []byte) bool {
	l := a.l
	if l == nil || !l.turn.CompareAndSwap(a.turn, a.turn+1) {
		return false
	}
	l.kind = kind
	if more := int64(len(payload) - keepAnswer); more > 0 {
		if l.err = l.conn.account.Take(more); l.err == nil {
			l.held += more
		}
	}
	if l.err == nil {
		l.payload = append(l.payload[:0], payload...)
	}
	l.conn.w.pushAnswer(l)
	return true
}
