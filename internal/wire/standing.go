package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/replica"
)

// Standing is what a member of a group says of itself to its readers, little-endian:
//
//	0 now u64 | 8 lease's term u64 | 16 lease's end u64 | 24 revision u64 | 32 end of the log u64
//	40 epoch u64, if the connection has told one (cluster.go)
//
// Now and the lease's end are ns by the server's boottime.Now, read in this order: the lease
// first. Term 0: the member may not be read. replica.OfSecondary in it: only by a connection
// that has said so (ReadInSync). Heartbeats have the term and the lease's end as their Numbers.
type Standing struct {
	Now      time.Duration
	Lease    replica.Lease
	Revision uint64 // of the last write that readers see
	End      uint64 // of the log: no member shows more than the primary's
	// Epoch of the map by which the lease is given, 0: not said. What is read by another map
	// does not count.
	Epoch uint64
}

// StandingBytes is the size of an encoded Standing without an epoch.
const StandingBytes = 40

// ReadInSync is the request by which a connection says that it reads at a secondary, too; an
// empty request asks for the Standing alone.
const ReadInSync = 1

// Append appends the encoded form.
func (s *Standing) Append(b []byte) []byte {
	for _, n := range []uint64{uint64(s.Now), s.Lease.Term, uint64(s.Lease.Until), s.Revision, s.End} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	if s.Epoch != 0 {
		b = binary.LittleEndian.AppendUint64(b, s.Epoch)
	}
	return b
}

// GetStanding decodes the answer to a KindLease.
func GetStanding(b []byte) (s Standing, err error) {
	if len(b) != StandingBytes && len(b) != StandingBytes+8 {
		return s, fmt.Errorf("%w: standing of %d bytes, want %d or 8 more", model.ErrProtocol, len(b), StandingBytes)
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	s = Standing{Now: time.Duration(at(0)), Lease: LeaseOf(at(1), at(2)), Revision: at(3), End: at(4)}
	if len(b) > StandingBytes {
		s.Epoch = at(5)
	}
	if s.Now < 0 {
		return s, fmt.Errorf("%w: a server's clock at %v", model.ErrProtocol, s.Now)
	}
	return s, nil
}

// LeaseOf is the lease in two numbers of a server.
func LeaseOf(term, until uint64) replica.Lease {
	return replica.Lease{Term: term, Until: time.Duration(until)}
}
