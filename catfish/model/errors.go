package model

import (
	"errors"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/names"
)

var (
	// ErrUnauthenticated: the server wants a key (Options.Key), and there is
	// none, or one that is wrong, was removed or has expired. Nothing was done.
	ErrUnauthenticated = access.ErrUnauthenticated
	// ErrRateLimited: the key sends requests faster than it may. Nothing was done;
	// a later attempt succeeds.
	ErrRateLimited = access.ErrRateLimited
)

// Errors that callers distinguish with errors.Is. RetrySafe says of any
// error of this package whether the caller may repeat the operation.
var (
	// ErrNoServer: no server answered at the address within the dial time
	// limit. Nothing was sent.
	ErrNoServer = fault.ErrNoServer
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
	ErrOption = fault.ErrOption
	// ErrProtocol: the peer sent bytes that no correct peer sends.
	ErrProtocol = fault.ErrProtocol
	// ErrServer: the server failed to carry out a well-formed request.
	ErrServer = fault.ErrServer
	// ErrClosed: the Client, Server or Local was closed. Nothing was sent or
	// written.
	ErrClosed = fault.ErrClosed
	// ErrInUse: the listen address is taken.
	ErrInUse = errors.New("catfish: address in use")
	// ErrBusy: the request would exceed what the server holds for one
	// client, or for all. Nothing was done; a later attempt may succeed.
	ErrBusy = fault.ErrBusy
	// ErrTooLarge: the answer exceeds a limit, which the text names. So
	// would the next one: ask for less. A value that is too large to be put is
	// record.ErrTooLarge.
	ErrTooLarge = fault.ErrTooLarge
	// ErrNotReady: the server has not loaded the collection yet. Nothing was
	// done; a later attempt succeeds.
	ErrNotReady = fault.ErrNotReady
	// ErrNotPermitted: the server does not let clients do this, or not with
	// their key. Nothing was done.
	ErrNotPermitted = fault.ErrNotPermitted
	// ErrKind: the collection has objects of another kind than the call. Nothing
	// was done.
	ErrKind = fault.ErrKind
	// ErrRestarted: another server answers at the address, and lacks the objects of
	// the one before. Nothing was done. See Options.OnRestart.
	ErrRestarted = fault.ErrRestarted
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
	// ErrNotPrimary: the server is a member of a group, and another member takes the
	// writes, or may do so, and what was read may be old. Nothing was done. A client repeats
	// the call there, and returns this error if no member has become the primary within the
	// dial time limit.
	ErrNotPrimary = fault.ErrNotPrimary
	// ErrTooFewInSync: the group has fewer members in sync than a write needs. Nothing
	// was done; a later attempt may succeed.
	ErrTooFewInSync = fault.ErrTooFewInSync
	// ErrMoved: another group has what was asked for, or the map changed during the request.
	// Nothing was done. The client asks for the map, and makes the request again.
	ErrMoved = fault.ErrMoved
	// ErrSeveralGroups: several groups have the store together, and this call is not made of
	// several groups yet. Nothing was done.
	ErrSeveralGroups = fault.ErrSeveralGroups
	// ErrPaused: a search was stopped for too long. Search again.
	ErrPaused = fault.ErrPaused
	// ErrLagged: the events that a watch needs next are no longer kept. Search again,
	// and watch from then on.
	ErrLagged = fault.ErrLagged
	// ErrWatchLimit: there are too many watchers or areas; the text says which.
	ErrWatchLimit = fault.ErrWatchLimit
)
