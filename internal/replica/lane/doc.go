// Package lane is the layout of the log lane between two members of a group:
// what the primary writes into memory of a secondary, and what the secondary
// writes back. It encodes and decodes, and does nothing else.
//
//	follower                                   primary
//	--------                                   -------
//	hello (private data of Dial): the ring --> checks boot, group, ticket
//	            <-----------------------------  welcome: the acknowledgement line
//	ring        <-- RDMA Write ---------------  frames, then the tail word
//	ack line    --- RDMA Write --------------> after each scan of the ring
//
// The follower dials, as it opens the stream over which it got the ticket. Package
// rings drives this.
//
// All numbers are little-endian. The layouts are in frame.go (frames, and where
// they are in the ring), entries.go (what a frame carries), ack.go and hello.go.
// The tail word is that of package tailword: it counts the bytes of all frames,
// pads and gaps since the lane began.
//
// # Trust
//
// Ring and line are memory that the peer may write at any time, also after it
// was revoked (rdma.RevokedComplete). So the reader copies first and decodes the
// copy: Head of a copy of HeaderBytes, then Decode of a copy of the whole frame.
// A decoder accepts only what an encoder writes: unknown kinds and flags,
// reserved bytes that are not 0, and numbers that fit nothing are errors, and a
// check sum covers the rest. No memory is allocated for a length that was not
// compared with the bytes at hand.
package lane

import (
	"errors"
	"hash/crc32"
)

// Errors of the decoders.
var (
	// ErrSum: bytes are damaged or incomplete. Of an ack line another look
	// may succeed, because it is being written; of a frame, which the tail
	// word announced, none will.
	ErrSum = errors.New("lane: check sum does not match")
	// ErrInvalid: no correct peer of this version writes that.
	ErrInvalid = errors.New("lane: invalid")
	// ErrNone: the line was never written.
	ErrNone = errors.New("lane: no acknowledgement yet")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// noSum stands for the sum within the bytes that it covers.
var noSum [4]byte

// sum is the CRC-32C of b, in which the 4 bytes at offset at count as 0.
func sum(b []byte, at int) uint32 {
	s := crc32.Checksum(b[:at], castagnoli)
	s = crc32.Update(s, castagnoli, noSum[:])
	return crc32.Update(s, castagnoli, b[at+len(noSum):])
}
