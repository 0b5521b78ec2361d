package fastmsg

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Sentinels. A failed Call matches exactly one of ErrNotSent and
// ErrUnknownOutcome, besides its cause (the context's error, ErrClosed,
// ErrTooLarge, ErrProtocol, or one of package rdma). Users of programs built
// on this package read their texts, so these do not name the package.
var (
	// ErrNotSent: the peer has not seen the request, and never will. Sending
	// it again is safe.
	ErrNotSent = errors.New("request not sent")
	// ErrUnknownOutcome: the request was sent, but its answer did not arrive,
	// or not all of it. The peer may or may not have executed it.
	ErrUnknownOutcome = errors.New("no answer to a request that was sent: it may or may not have been carried out")

	// ErrTooLarge: a payload, hello or ring exceeds its size limit.
	ErrTooLarge = errors.New("message too large")
	// ErrVersion: the two sides speak different protocol versions.
	ErrVersion = errors.New("client and server speak different versions of the protocol")
	// ErrProtocol: the peer violated the protocol. The connection is lost.
	ErrProtocol = errors.New("what arrived breaks the protocol")
	// ErrConfig: a configuration value is not allowed.
	ErrConfig = errors.New("fastmsg: bad configuration")
	// ErrClosed: this side has closed the Caller, Conn or Worker.
	ErrClosed = errors.New("connection closed")

	// ErrRingFull is in the chain of an ErrNotSent when the context
	// ended while the request waited for room in the peer's ring.
	ErrRingFull = errors.New("the server takes no requests: their ring is full")
	// ErrBusy: more requests of one connection would be answered later than
	// WorkerConfig.MaxLater. This one had no effect.
	ErrBusy = errors.New("too many requests under way")
	// ErrInFlight is in the chain of an ErrNotSent when the context
	// ended while MaxInFlight other calls were unanswered.
	ErrInFlight = errors.New("too many calls in flight")
)

// CallError is a failed Call.
type CallError struct {
	Peer    string
	Kind    Kind
	Outcome error // ErrNotSent or ErrUnknownOutcome
	Cause   error
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%v (to %s): %v", e.Outcome, e.Peer, e.Cause)
}

// Unwrap lets errors.Is find the outcome and the cause.
func (e *CallError) Unwrap() []error { return []error{e.Outcome, e.Cause} }

// RetrySafe reports whether err means that the peer has not executed the
// request: it was not sent, or there was no connection. It does not say
// whether a retry will succeed.
func RetrySafe(err error) bool {
	return errors.Is(err, ErrNotSent) || errors.Is(err, rdma.ErrDial) ||
		errors.Is(err, rdma.ErrRejected)
}

func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

func answerTooLarge(limit int) error {
	return fmt.Errorf("%w: answer exceeds %d bytes", ErrTooLarge, limit)
}
