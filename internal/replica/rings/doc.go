// Package rings carries frames of a primary into a ring in its follower's memory, and
// acknowledgements back into a line of the primary's: package lane's layouts, driven over
// queue pairs.
//
//	Sender (primary)                              Receiver (follower)
//	----------------                              -------------------
//	Send: one goroutine                           Read: one goroutine
//	  mirror  -- Write: frame ------------------>   ring     --> each frame, in order
//	  words   -- WriteImm: the tail ------------>   tail word, and an event
//	Acks: another one                             Acknowledge: another one
//	  line    <- WriteImm: the line -------------   lines
//
// A frame stays in the mirror, at the same place as in the ring, until an acknowledgement
// says that the follower has consumed it: that frees both places.
//
// # Waiting
//
// Both readers wait for events of the queue pair, as rdma.CompletionQueue does: it spins as
// long as a wake-up takes, and then sleeps. The event costs a wake-up only then, on all
// providers: shm rings the peer's bell if its waiter sleeps, and a card raises an interrupt if
// the queue was armed. So a lane under load needs no wake-up, and there is no second protocol,
// in memory, about which side sleeps.
//
// # The end
//
// Stop of a Receiver revokes the ring (rdma.Region.Revoke). Then Read delivers what the tail
// word announces, and returns ErrStopped. A Write that begins later fails at the sender, and
// is never seen; one that was in progress is seen whole, by its check sum, or not at all.
// The memory is not registered again: each Receiver has its own, which Close frees.
//
// # Trust
//
// The peer is a member that was admitted, but it may be of another version, damaged or
// hostile, and so may be another process with its keys. What it writes is copied, checked, and then
// used. Anything that no correct peer writes ends the lane, with an error that names it. Neither
// side's safety rests on the other's memory: a follower acknowledges what its processor has
// checked, and the protocol compares terms and sessions.
package rings

import "errors"

var (
	// ErrStopped: this side has ended the lane.
	ErrStopped = errors.New("rings: stopped")
	// ErrPeer: the other side wrote what no correct one writes.
	ErrPeer = errors.New("rings: the peer broke the protocol")
)
