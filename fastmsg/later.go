package fastmsg

import "fmt"

// Answers that are given later
//
// A handler that has to wait for something, such as a disk, does not keep its
// worker: Serve calls Later, hands the Later to the goroutine that will know
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
// come in any order. A client finds its answer by the id.
//
// # The owner of a later
//
// A Later refers to a later, which the worker uses again for other requests.
// Its states and their owners form a cycle:
//
//	free      the worker's, in Worker.free
//	open      the holder of the Later: the answer is to come
//	answered  the one goroutine whose Respond made it so, until it puts it into
//	          Worker.answered; from then on the worker's, which sends the
//	          answer in a turn, and frees the later
//
// later.turn counts the rounds: Respond makes it greater by one, by
// compare-and-swap from its value at the call of Conn.Later. So of many calls
// one succeeds, and a call in a later round finds a greater value: no answer
// is given twice, or to another request.
//
// # Why no answer is lost, and no wake-up missed
//
// Worker.answered and Worker.asleep are under Worker.mu. A worker goes to sleep
// only after it saw, under mu, that answered is empty, and set asleep in the
// same section. So an answer comes before that section, and the worker does not
// sleep; or after it, and its Respond finds asleep set. This Respond clears
// asleep and calls Wake, which ends the present Wait or the next one. The
// answers that follow do not call Wake. After each Wait the worker takes over
// the answers, and clears asleep in the same section (takeOver). While it serves
// or polls, asleep is not set: then it finds answers without being woken.
//
// # Connections and workers that end
//
// An answer to a connection that has ended is dropped when the worker takes it
// over. Respond must be called nevertheless: until then the connection's account
// stays open, so requests in flight of clients that hang up count as before.
// Run does not wait for answers. After Run, Respond drops its answer under mu:
// shutdown sets Worker.over in the section in which it drops the present
// answers, so one of the two drops each answer.
//
// # Bounds
//
// A connection has at most WorkerConfig.MaxLater laters. Each counts laterBytes and the
// bytes that the handler keeps for it against WorkerConfig.Budget, from Later until the
// answer is in the client's ring or in the backlog. An answer longer than keepAnswer
// counts its own bytes, too. The backlog counts the bytes that wait there (slow.go).
//
// Rejected: taking over the caller's bytes in place of copying them. Copying 100
// bytes takes 5 ns, and a caller that cannot use its bytes again makes garbage.

// Later is a request that is answered by Respond, from any goroutine. It is a
// small value, to be copied freely. The zero Later belongs to no request.
type Later struct {
	l    *later
	turn uint64 // of l, until the answer
}

// Later defers the answer to request id, in place of Respond. keeps is how
// many bytes the handler keeps for it meanwhile: they count against the
// worker's budget like those of Hold, until the answer is given. If Later
// fails, with ErrBusy or an error of the budget, it had no effect: the
// handler should refuse the request.
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

// Take takes n more bytes from the worker's budget, for data that is kept for
// the request until the answer, and Give returns them. Any goroutine may call
// them, before Respond.
func (a Later) Take(n int64) error { return a.l.conn.account.Take(n) }

// Give returns n bytes that Take took.
func (a Later) Give(n int64) { a.l.conn.account.Give(n) }

// Ended reports whether the connection has ended: no client waits for the answer.
// Any goroutine may call it, before Respond, which must be called nevertheless.
func (a Later) Ended() bool { return a.l.conn.over.Load() }

// Respond gives the answer. It copies the payload, and does not wait: the
// connection's worker sends the answer in its next turn. Any goroutine may call
// it, also the worker's. It reports whether this is the answer: false if an
// earlier call gave one, which stays. If the connection has ended, the answer
// is dropped.
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
