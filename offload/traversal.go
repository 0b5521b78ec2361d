package offload

import "errors"

// Ref names a block of a remote region to be read.
//
// It has four fields because the compiler keeps structs of no more in registers
// (MaxStruct of cmd/compile). Every read passes Refs to and from a Traversal: with
// a fifth one a read of a record over shared memory took 96 ns instead of 82.
type Ref struct {
	Offset uint64 // bytes from the region's start
	Len    uint32 // bytes; at most the read channel's block size
	Read
	Tag uint64 // for the traversal's use
}

// Read is how a Ref is read.
type Read struct {
	// Hop counts round trips, for statistics: 1 for a block known from the
	// start, one more than its parent's for every other. 0 is for a block that
	// is read beside the next one that Next returns, without a trip of its
	// own if the window is more than 1.
	Hop    uint16
	Region uint8 // which of Run's regions
}

// Verdict is what the walk must do with a block that arrived.
type Verdict uint8

// The verdicts. See the package comment.
const (
	Accept Verdict = iota
	Retry
	Restart
)

// Traversal is one walk through the remote structure. Its methods are
// called by the goroutine that runs it, never at the same time.
type Traversal interface {
	// Next returns a block to read, false when none is known now. It is
	// called again after each Visit. The walk ends when no block is
	// known and no read is in flight. An error ends the walk.
	Next() (Ref, bool, error)
	// Visit looks at a block that arrived. block is private memory and
	// valid only during the call. Its content is what the peer's memory
	// held, each 64-byte line at a moment of its own: validate it.
	Visit(ref Ref, block []byte) (Verdict, error)
}

// Stats counts what walks cost. Add sums them up.
type Stats struct {
	Reads      uint64 // RDMA Reads posted, repeated ones included
	RoundTrips uint64 // longest chain of dependent reads
	Bytes      uint64 // read
	Torn       uint64 // blocks read again
	Restarts   uint64 // walks begun again
	Cached     uint64 // blocks that were not read: a Cache had them
	Repairs    uint64 // cached blocks that had changed: read again
}

// Add adds o to s.
func (s *Stats) Add(o Stats) {
	s.Reads += o.Reads
	s.RoundTrips += o.RoundTrips
	s.Bytes += o.Bytes
	s.Torn += o.Torn
	s.Restarts += o.Restarts
	s.Cached += o.Cached
	s.Repairs += o.Repairs
}

// Errors. After ErrRestart the walk may simply begin again, and the channel
// stays usable, as after ErrStopped. After ErrChannel it is dead. Reads have no side
// effects, so repeating the walk elsewhere is always safe.
var (
	ErrRestart = errors.New("offload: the structure moved under the walk")
	ErrTorn    = errors.New("offload: block stays inconsistent")
	ErrChannel = errors.New("offload: connection failed")
	ErrStopped = errors.New("offload: stopped by the walk's owner")
	ErrRef     = errors.New("offload: bad reference")
)
