// Package soft is a software RNIC over TCP or any other byte stream: it
// gives package rdma's verbs to machines without an RDMA card, on every
// platform.
//
//	initiator                              target
//	---------                              ------
//	Post --frames--> outbox ==stream==> NIC goroutine --copies--> Region
//	                                           |
//	                                           +--events--> recv CQ
//	send CQ <-- NIC goroutine <==stream== outbox <--acks, read bytes
//
// Each queue pair is one connection and one NIC goroutine per side, the
// only reader of that connection. It serves the peer's requests from
// registered memory (target.go) and completes this side's own
// (initiator.go). A server's workers never see one-sided operations;
// what the NIC goroutines cost is counted apart: a Device of this
// package has the method NIC() Stats.
//
// Read in this order: frame.go (the wire), queuepair.go (Post), outbox.go
// (who writes to the connection), reader.go (the NIC goroutine),
// target.go, initiator.go, teardown.go (how a queue pair ends),
// monitor.go (peers that fall silent).
//
// # Why nothing deadlocks
//
// Two peers could wait for each other if a NIC goroutine stopped reading
// because it cannot write. It never does: it writes without blocking, or
// leaves the bytes to another goroutine (outbox.go). What piles up is
// bounded by credits, and only a peer that ignores its credits, which no
// correct peer does, reaches a bound; its connection is ended.
//
//	what                          bounded by               granted by
//	requests without an answer    SendDepth                initiator
//	WriteImm events not polled    RecvDepth                target (CREDIT)
//	bytes of Reads in flight      Options.ReadWindow       target (handshake)
//	bytes of one request          Options.MaxRequest       target (handshake)
//	bytes posted, not yet sent    Options.QueuedBytes      initiator
//
// Acks, credits and pongs are counters and flags, sent in their latest
// state, so they need no bound.
//
// # Locks
//
// In order: device.mu, queuePair.mu, completionQueue.mu. No lock is held
// during a system call that can block.
package soft
