package rdma

import (
	"context"
	"time"
)

// LineBytes is the unit in which a Read is atomic: one cache line.
const LineBytes = 64

// MaxPrivateData bounds the private data of Dial and Accept. The RDMA
// communication manager has room for 56 bytes in an RC connect request on
// InfiniBand and RoCE (rdma_connect(3)).
const MaxPrivateData = 56

// PeerTimeout is the time within which outstanding requests to a peer
// that died are flushed.
const PeerTimeout = 2 * time.Second

// Access says what a Region's memory may be used for. Being the source
// of a local Write needs no right.
type Access uint8

const (
	LocalWrite  Access = 1 << iota // destination of this side's Reads
	RemoteRead                     // source of the peers' Reads
	RemoteWrite                    // destination of the peers' Writes
)

// Key identifies a Region to peers. Providers that choose keys themselves
// draw them at random from 64 bits: knowing a key is the permission to use
// it, so one client cannot reach another's ring. Cards choose 32 bits that
// can be guessed (ibv_reg_mr(3)).
type Key uint64

// Remote is an address in a peer's memory. Addr is relative to the Region's
// declared first byte (Region.Remote): 0 for most providers, the owner's
// virtual address for cards (FI_MR_VIRT_ADDR). So it travels with the key and
// is never computed from scratch.
type Remote struct {
	Key  Key
	Addr uint64
}

// At returns the address offset bytes further on.
func (r Remote) At(offset uint64) Remote {
	return Remote{r.Key, r.Addr + offset}
}

// Region is memory registered with a Device. It holds no Go pointers.
type Region interface {
	// Bytes is the whole memory, aligned to a page. It must not be used
	// after Close.
	Bytes() []byte
	Key() Key
	// Remote is the Region's first byte, as peers reach it.
	Remote() Remote
	Access() Access
	// Revoke deregisters as Close does, and keeps Bytes for the owner.
	// Info.Revoked is the promise for Writes in progress. No peer can delay
	// Revoke. A second call, or a call after Close, does nothing.
	Revoke() error
	// Close deregisters: later remote accesses fail at the initiator
	// with StatusRemoteKey, later requests of this side that name the
	// Region with ErrBadRequest. The owner first makes sure that none of its
	// own requests still use the memory.
	Close() error
}

// Revoked says what holds of a Region's Bytes when Revoke has returned. See
// "Revocation" in the package comment.
type Revoked uint8

const (
	// RevokedLoosely: Writes that had begun may change Bytes later, and
	// complete with StatusOK.
	RevokedLoosely Revoked = iota
	// RevokedComplete: each Write that completed or will complete with StatusOK
	// is in Bytes. One that will fail may still change the bytes that it named.
	RevokedComplete
	// RevokedFinal is RevokedComplete, and no Write changes Bytes any more.
	RevokedFinal
)

// Device is one opened provider: the protection domain in which Regions
// and completion queues live. Safe for concurrent use.
type Device interface {
	Info() Info
	// Register allocates size zeroed bytes and registers them. Errors wrap
	// ErrRegister: size below 1 or beyond what the device supports, unknown
	// access bits, no memory.
	Register(size int, access Access) (Region, error)
	// CreateCQ makes a completion queue. Depth is a lower bound on the
	// completions it holds; providers grow it rather than lose one.
	CreateCQ(depth int) (CompletionQueue, error)
	// Listen waits for connections at a provider-specific address.
	Listen(addr string) (Listener, error)
	// Dial connects to a Listener. private (at most MaxPrivateData bytes)
	// arrives in the peer's ConnRequest; the peer's answer is the queue
	// pair's PrivateData. A peer's refusal is a *RejectError.
	Dial(ctx context.Context, addr string, cfg QPConfig, private []byte) (QueuePair, error)
	// Close closes everything made from the device.
	Close() error
}

// Info describes an opened device, for logs and benchmark rows.
type Info struct {
	Provider       string // "shm", "soft", "ofi"
	Detail         string // device, port, GID, fabric; free text
	MaxReads       int    // outstanding Reads that run at once on a queue pair, further ones wait; 0 = no limit
	SynchronousOps bool   // requests are complete when Post returns (shm)
	Emulated       bool   // goroutines of this process execute the peers' requests (soft): a polling goroutine must let them run
	Faults         Faults // how precisely a refused request reports the reason
	// TornLines: a Read may return a partly changed line, because a CPU
	// copies the bytes in an unspecified order (Soft-RoCE, libfabric's tcp).
	// Two equal Reads, posted in order on a queue pair, contain no such line.
	TornLines bool
	// InOrder: a processor that sees the last byte of a Write sees all of it, and
	// nothing of it is stored later. Declared only where the code shows it: shm
	// on amd64. FaRM and RFP rely on it, on cards that promise it as little as
	// InfiniBand does.
	InOrder bool
	// Pins: registered memory occupies memory, touched or not.
	Pins    bool
	Revoked Revoked // what Region.Revoke promises beyond the end of new accesses
}

// Faults says how precisely a device reports why the target refused a
// request.
type Faults uint8

const (
	// FaultsExact: StatusRemoteKey, StatusRemoteAccess, StatusRemoteBounds.
	FaultsExact Faults = iota
	// FaultsCoarse: StatusRemoteAccess for all three, as InfiniBand's
	// one remote access error does.
	FaultsCoarse
	// FaultsNone: the connection ends with StatusPeerLost or StatusFlushed,
	// even for requests that were executed before.
	FaultsNone
)

// Listener accepts connections.
type Listener interface {
	// Accept waits for the next request. ErrClosed after Close.
	Accept(ctx context.Context) (ConnRequest, error)
	Addr() string
	Close() error
}

// ConnRequest is a peer that waits for an answer. Exactly one of Accept and
// Reject must be called.
type ConnRequest interface {
	PrivateData() []byte
	Peer() string
	Accept(cfg QPConfig, private []byte) (QueuePair, error)
	Reject(reason string) error
}

// QPConfig configures a queue pair.
type QPConfig struct {
	// SendCQ gets the completions of posted requests, RecvCQ the events
	// of arrived WriteImms. They may be the same, and shared with other
	// queue pairs of the device. Both are required.
	SendCQ, RecvCQ CompletionQueue // missing: ErrBadRequest
	// SendDepth bounds outstanding posted requests (0: DefaultDepth).
	SendDepth int
	// RecvDepth bounds WriteImm events that arrived and were not yet polled
	// (0: DefaultDepth). The provider keeps the receives posted. Negative
	// depths are an ErrBadRequest.
	RecvDepth int
	// Context is returned by QueuePair.Context, for the owner's use.
	Context any
}

// DefaultDepth is the default of SendDepth and RecvDepth, a depth that every
// card of the last decade supports.
const DefaultDepth = 256

// QueuePair is one end of a reliable, ordered connection. Post is safe
// for concurrent use; requests of one call stay together and in order.
type QueuePair interface {
	// Post hands over requests in order and returns how many were accepted. n
	// < len(wrs) comes with an error: ErrQueueFull (SendDepth requests are
	// outstanding here, or RecvDepth events unpolled at the peer; nothing of
	// the rest was sent: poll completions, Wait on SendCQ, which returns when
	// there may be room, and post the rest again), ErrQueuePair (failed or
	// closed), or an error that says what is wrong with wrs[n] (bounds of the
	// local buffer, unknown Op).
	Post(wrs []WorkRequest) (n int, err error)
	// PrivateData is what the peer sent with Dial or Accept.
	PrivateData() []byte
	Peer() string
	Context() any
	// Err is nil while the queue pair works, and afterwards the reason for
	// its failure.
	Err() error
	// Close fails the queue pair and notifies the peer. Completions that were
	// not polled are dropped; no event comes after Close has returned.
	Close() error
}

// Op is the kind of a work request or of a completion.
type Op uint8

const (
	OpRead     Op = 1 + iota // bytes from the peer's Region into Local
	OpWrite                  // bytes from Local into the peer's Region
	OpWriteImm               // OpWrite, then an event with Imm at the peer
	OpRecv                   // completion only: a peer's WriteImm arrived
)

// Buffer is a piece of a local Region.
type Buffer struct {
	Region      Region
	Offset, Len int
}

// WorkRequest is one posted operation. A WriteImm may carry no bytes
// (Local.Len 0); then Local.Region and Remote are ignored.
type WorkRequest struct {
	Op         Op
	Unsignaled bool // no completion on success
	Imm        uint32
	ID         uint64 // returned in the Completion
	Local      Buffer
	Remote     Remote
}

// Completion reports how one request ended, or that a WriteImm arrived.
type Completion struct {
	Op     Op
	Status Status
	Imm    uint32 // OpRecv
	Bytes  uint32 // OpRecv: length of the peer's write; else Local.Len
	ID     uint64 // of the request; 0 for OpRecv
	QP     QueuePair
	// Vendor is the provider's own error code, 0 where there is none.
	Vendor uint32
}

// CompletionQueue collects completions of any number of queue pairs. Only one
// goroutine at a time may poll and wait; any may call Wake.
type CompletionQueue interface {
	// Poll moves up to len(dst) completions into dst and returns their
	// number, 0 if there are none. It never blocks.
	Poll(dst []Completion) int
	// Wait returns nil as soon as Poll has something to return, or after Wake
	// (including a Wake before the call). It spins for a bounded time, then
	// sleeps. ErrTimeout after timeout (negative: never), ctx's error once
	// ctx is done, ErrClosed after Close. Spurious nils are allowed.
	Wait(ctx context.Context, timeout time.Duration) error
	// Spun is the time that Wait has spent spinning so far: busy from the
	// operating system's point of view, but in fact idle.
	Spun() time.Duration
	Wake()
	Close() error
}
