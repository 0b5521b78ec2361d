package catfish

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// Errors that callers distinguish with errors.Is. RetrySafe says of any
// error of this package whether the caller may repeat the operation.
var (
	// ErrNoServer: no server answered at the address within the dial time
	// limit. Nothing was sent.
	ErrNoServer = errors.New("catfish: no server")
	// ErrNotSent: the request was not sent. Repeating it is safe.
	ErrNotSent = fastmsg.ErrNotSent
	// ErrUnknownOutcome: a write was sent and its answer lost; it may or
	// may not have taken effect. Look before repeating it.
	ErrUnknownOutcome = fastmsg.ErrUnknownOutcome
	// ErrVersionMismatch: client and server speak different versions.
	ErrVersionMismatch = errors.New("catfish: version mismatch")
	// ErrTransport: the requested transport is not available; the text names the
	// missing part.
	ErrTransport = errors.New("catfish: transport not available")
	// ErrUnknownCollection: there is no collection of this name.
	ErrUnknownCollection = fault.ErrUnknownCollection
	// ErrOption: an option's value is outside its range.
	ErrOption = errors.New("catfish: bad option")
	// ErrProtocol: the peer sent bytes that no correct peer sends.
	ErrProtocol = status.ErrProtocol
	// ErrServer: the server failed to carry out a well-formed request.
	ErrServer = status.ErrServer
	// ErrClosed: the Client, Server or Local was closed. Nothing was sent or
	// written.
	ErrClosed = fault.ErrClosed
	// ErrInUse: the listen address is taken.
	ErrInUse = errors.New("catfish: address in use")
	// ErrBusy: the request would exceed what the server holds for one
	// client, or for all. Nothing was done; a later attempt may succeed.
	ErrBusy = status.ErrBusy
	// ErrTooLarge: the answer exceeds a limit, which the text names. So
	// would the next one: ask for less. A value that is too large to be put is
	// record.ErrTooLarge.
	ErrTooLarge = status.ErrTooLarge
	// ErrNotReady: the server has not loaded the collection yet. Nothing was
	// done; a later attempt succeeds.
	ErrNotReady = status.ErrNotReady
	// ErrNotPermitted: the server does not let clients do this, or not with
	// their key. Nothing was done.
	ErrNotPermitted = status.ErrNotPermitted
	// ErrKind: the collection has objects of another kind than the call. Nothing
	// was done.
	ErrKind = status.ErrKind
	// ErrRestarted: another server answers at the address, and lacks the objects of
	// the one before. Nothing was done. See Options.OnRestart.
	ErrRestarted = errors.New("catfish: server has restarted without its data")
)

// Errors of features, the first three also of records. Nothing was changed.
var (
	// ErrNotFound: there is no feature of this id, no record of this key.
	ErrNotFound = kv.ErrNotFound
	// ErrExists: the write was for a new one (Condition.IfAbsent), and there is one.
	ErrExists = kv.ErrExists
	// ErrConflict: its revision is not the one that the write requires (Condition.IfRevision).
	ErrConflict = kv.ErrConflict
	// ErrCollectionExists: there is a collection of this name, with other options.
	ErrCollectionExists = fault.ErrCollectionExists
	// ErrName: a name that no collection may have.
	ErrName = names.ErrName
	// ErrFeature: a feature that cannot be stored; the text says why.
	ErrFeature = fault.ErrFeature
	// ErrQuery: a query that no collection answers; the text says which part.
	ErrQuery = fault.ErrQuery
	// ErrFilterCost: a filter took too long with a feature.
	ErrFilterCost = filter.ErrCost
	// ErrReadOnly: the disk is full or has failed.
	ErrReadOnly = fault.ErrReadOnly
	// ErrPaused: a search was stopped for too long. Search again.
	ErrPaused = fault.ErrPaused
	// ErrLagged: the events that a watch needs next are no longer kept. Search again,
	// and watch from then on.
	ErrLagged = fault.ErrLagged
	// ErrWatchLimit: there are too many watchers or areas; the text says which.
	ErrWatchLimit = fault.ErrWatchLimit
)

// RetrySafe reports whether the operation that failed with err had no
// effect, so that repeating it cannot do it twice: it was not sent, or it
// was refused. Whether a repetition succeeds is another question. A search has
// no effects and may always be repeated.
func RetrySafe(err error) bool {
	var r *remoteError
	var part *partlyDone
	switch {
	case err == nil, errors.Is(err, ErrUnknownOutcome), errors.As(err, &part):
		return false
	case errors.Is(err, ErrNotSent), errors.Is(err, ErrNoServer):
		return true
	case errors.As(err, &r):
		return r.done == 0 && !errors.Is(r, ErrServer)
	}
	for _, e := range []error{ErrUnauthenticated, ErrBusy, limits.ErrExceeded, ErrNotReady, ErrRestarted, ErrOption, ErrKind, rstar.ErrBadRect, record.ErrTooLarge} {
		if errors.Is(err, e) {
			return true
		}
	}
	return fastmsg.RetrySafe(err)
}

// partlyDone is the error of a call of several messages, the first of which
// were carried out.
type partlyDone struct {
	done int
	err  error
}

func (e *partlyDone) Error() string { return fmt.Sprintf("after %d objects: %v", e.done, e.err) }
func (e *partlyDone) Unwrap() error { return e.err }

// failureHead is code u16 and the number of items done before it u64.
const failureHead = 10

func appendFailure(b []byte, err error, done uint64) []byte {
	b = binary.LittleEndian.AppendUint16(b, status.Wire(err))
	b = binary.LittleEndian.AppendUint64(b, done)
	return append(b, err.Error()...)
}

// remoteError is a server's failure at the client: the server's text, and
// the sentinel that its code stands for.
type remoteError struct {
	sentinel error
	text     string
	done     uint64
}

func (e *remoteError) Error() string {
	// The same errors as in this process.
	for _, is := range []error{ErrNotFound, ErrExists, ErrConflict} {
		if errors.Is(e.sentinel, is) {
			return e.text
		}
	}
	return "server: " + e.text
}
func (e *remoteError) Unwrap() error { return e.sentinel }

func getFailure(b []byte) error {
	if len(b) < failureHead {
		return fmt.Errorf("%w: failure of %d bytes, want at least %d", ErrProtocol, len(b), failureHead)
	}
	return &remoteError{
		sentinel: status.OfWire(binary.LittleEndian.Uint16(b)),
		done:     binary.LittleEndian.Uint64(b[2:]),
		text:     string(b[failureHead:]),
	}
}
