// Package soft is a software RNIC over TCP or any other byte stream: it
// provides package rdma's verbs on machines without an RDMA card, on every
// platform.
//
//	initiator                              target
//	---------                              ------
//	Post --frames--> outbox ==stream==> NIC goroutine --copies--> Region
//	                                           |
//	                                           +--events--> recv CQ
//	send CQ <-- NIC goroutine <==stream== outbox <--acks, read bytes
//
// Each queue pair is one connection and one NIC goroutine per side, the only
// reader of that connection. It serves the peer's requests from registered
// memory (target.go) and completes this side's own (initiator.go). A server's
// workers never see one-sided operations; the cost of the NIC goroutines is
// counted separately: a Device of this package has the method NIC() Stats.
//
// Read in this order: frame.go (the wire format), queuepair.go (Post),
// outbox.go (writing to the connection), reader.go (the NIC goroutine),
// target.go, initiator.go, teardown.go (how a queue pair ends), monitor.go
// (silent peers), bounds.go (the limits of a peer's holdings).
//
// # Why there is no deadlock
//
// Two peers could wait for each other if a NIC goroutine stopped reading
// because it cannot write. It never does: it writes without blocking, or
// passes the bytes to another goroutine (outbox.go). Credits bound the
// accumulated bytes. Only a peer that ignores its credits, which no correct
// peer does, reaches a bound; its connection is ended.
//
//	what                          bounded by               granted by
//	requests without an answer    SendDepth                initiator
//	WriteImm events not polled    RecvDepth                target (CREDIT)
//	bytes of Reads in flight      Options.ReadWindow       target (handshake)
//	bytes of one request          Options.MaxRequest       target (handshake)
//	bytes posted, not yet sent    Options.QueuedBytes      initiator
//
// Peers that keep to their credits may still be many, slow or silent. The
// budgets of Options bound their holdings together (bounds.go), and timeouts
// bound the frames that they begin and the bytes that they do not read.
//
// Acks, credits and pongs are counters and flags, sent in their latest state,
// so they need no bound.
//
// # Locks
//
// In order: listener.mu, device.mu, queuePair.mu, then completionQueue.mu or
// that of a budget. A budget calls back without its lock, but perhaps with a
// queue pair's held, so the callback takes no lock. No lock is held during a
// system call that can block.
package soft
