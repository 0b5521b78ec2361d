// Package windows carries the bytes of a copy of a store from the member that has it to the
// one that learns it by RDMA Reads: the source puts pieces into windows of its registered
// memory, the learner reads them into its own.
//
//	Source                                     Reader (learner)
//	------                                     ----------------
//	Window(i): filled by the source            Buffer(i)
//	  0 .. 4 MiB       --- RDMA Reads -------->  4 MiB, 256 KiB a Read, 4 in flight
//	  4 .. 8 MiB
//	  ...
//
// Which window has a piece, how long it is and what its sum is goes over the stream between
// the two, as does that a window was read and may be filled again (package node). Here is
// nothing but memory and Reads. So the source's processor does nothing for a Read where a card
// does it, and its server's workers do nothing on all transports.
//
// # Bounds
//
// A source has Count windows of Bytes each, a learner Buffers buffers of as many, whatever the
// store has. Reads in flight are below what a server lets wait in the sockets of software
// queue pairs.
//
// # Trust
//
// The learner dials, and has no memory that its peer can reach. It reads nothing outside the
// windows, and into nothing but its buffer; the caller checks the bytes, after
// which no peer changes them. A source's windows can be read, by the one peer that has their key.
package windows

import "errors"

const (
	// Bytes is the size of a window: long enough that the stream's messages about it cost
	// nothing, and short enough to stay in a processor's cache between its writer and its sum.
	Bytes = 4 << 20
	// Count is how many a source has: one is filled while others are read.
	Count = 4
	// Buffers is how many a learner has: one is read while the other is written to disk.
	Buffers = 2

	// part is the length of a Read, and inFlight how many are outstanding.
	part     = 256 << 10
	inFlight = 4
)

// ErrPeer: the source names bytes that no correct one names.
var ErrPeer = errors.New("windows: the peer broke the protocol")
