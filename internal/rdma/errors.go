package rdma

import (
	"errors"
	"fmt"
)

// Sentinels, by phase. All but ErrQueueFull are final for the object that
// returned them.
var (
	// Connect. Nothing was sent; dialing again is safe.
	ErrDial     = errors.New("rdma: cannot connect")
	ErrRejected = errors.New("rdma: peer refused the connection")

	// Post.
	ErrQueueFull  = errors.New("rdma: queue full")                        // retry after polling
	ErrQueuePair  = errors.New("rdma: queue pair in error state")         // this request was not sent
	ErrBadRequest = errors.New("rdma: bad work request")                  // never sent
	ErrTooLarge   = errors.New("rdma: private data exceeds the limit")    // never sent
	ErrRegister   = errors.New("rdma: cannot register memory")            // nothing changed
	ErrCompletion = errors.New("rdma: work request completed with error") // see CompletionError

	// Wait, and all calls on closed objects.
	ErrTimeout = errors.New("rdma: timed out")
	ErrClosed  = errors.New("rdma: closed")
)

// Status is the result of a work request, after ibv_wc_status.
type Status uint8

const (
	StatusOK           Status = iota
	StatusFlushed             // outstanding when the queue pair failed: effect unknown
	StatusRemoteKey           // unknown, stale or foreign remote key: no effect
	StatusRemoteAccess        // the Region does not grant this access: no effect
	StatusRemoteBounds        // outside the Region: no effect
	StatusPeerLost            // the peer died, or the connection broke: effect unknown
	StatusProtocol            // the peer broke the protocol
)

var statusText = [...]struct{ name, cause string }{
	StatusOK:           {"ok", ""},
	StatusFlushed:      {"flushed", "the queue pair failed before this request was done; see its error"},
	StatusRemoteKey:    {"remote key error", "the peer has closed the region or restarted, or the key is wrong"},
	StatusRemoteAccess: {"remote access error", "the region was registered without this access right"},
	StatusRemoteBounds: {"remote bounds error", "offset plus length exceed the region"},
	StatusPeerLost:     {"peer lost", "the peer process ended, or the network between broke"},
	StatusProtocol:     {"protocol error", "the peer sent what no correct peer sends; versions differ or it is hostile"},
}

func (s Status) String() string {
	if int(s) < len(statusText) {
		return statusText[s].name
	}
	return fmt.Sprintf("status %d", uint8(s))
}

func (o Op) String() string {
	switch o {
	case OpRead:
		return "read"
	case OpWrite:
		return "write"
	case OpWriteImm:
		return "write-with-imm"
	case OpRecv:
		return "receive"
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// CompletionError is a Completion's failure as an error. It wraps
// ErrCompletion.
type CompletionError struct {
	Peer   string
	Op     Op
	Status Status
	Vendor uint32
	Cause  error // the queue pair's error, if it has more detail
}

func (e *CompletionError) Error() string {
	s := fmt.Sprintf("rdma: %s to %s: %s", e.Op, e.Peer, e.Status)
	if e.Vendor != 0 {
		s += fmt.Sprintf(" (vendor code %#x)", e.Vendor)
	}
	if int(e.Status) < len(statusText) && statusText[e.Status].cause != "" {
		s += ": " + statusText[e.Status].cause
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap lets errors.Is find ErrCompletion, and the cause.
func (e *CompletionError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrCompletion}
	}
	return []error{ErrCompletion, e.Cause}
}

// NotExecuted reports that the request had no effect at the peer, so
// that repeating it is safe (of a Write, some bytes may be in a Region that was
// revoked or closed at the same time). Otherwise the outcome is unknown.
func (e *CompletionError) NotExecuted() bool {
	switch e.Status {
	case StatusRemoteKey, StatusRemoteAccess, StatusRemoteBounds:
		return true
	}
	return false
}

// Err is nil for StatusOK, else a *CompletionError.
func (c *Completion) Err() error {
	if c.Status == StatusOK {
		return nil
	}
	e := &CompletionError{Op: c.Op, Status: c.Status, Vendor: c.Vendor}
	if c.QP != nil {
		e.Peer = c.QP.Peer()
		var same *CompletionError
		if cause := c.QP.Err(); cause != nil && !errors.As(cause, &same) {
			e.Cause = cause
		}
	}
	return e
}

// RejectError is a peer's refusal. It wraps ErrRejected.
type RejectError struct{ Peer, Reason string }

func (e *RejectError) Error() string {
	return fmt.Sprintf("rdma: %s refused the connection: %s", e.Peer, e.Reason)
}

// Unwrap lets errors.Is find ErrRejected.
func (e *RejectError) Unwrap() error { return ErrRejected }
