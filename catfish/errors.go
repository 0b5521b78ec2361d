package catfish

import (
	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
)

var (
	// ErrUnauthenticated: the server wants a key (Options.Key), and there is none, or one
	// that is wrong, was removed or has expired.
	ErrUnauthenticated = model.ErrUnauthenticated
	// ErrRateLimited: the key sends requests faster than it may.
	ErrRateLimited = model.ErrRateLimited
	// ErrNoServer: no server answered at the address within the dial time limit.
	ErrNoServer = model.ErrNoServer
	// ErrNotSent: the request was not sent.
	ErrNotSent = model.ErrNotSent
	// ErrUnknownOutcome: a write was sent and its answer lost; it may or may not have
	// taken effect.
	ErrUnknownOutcome = model.ErrUnknownOutcome
	// ErrVersionMismatch: client and server speak different versions.
	ErrVersionMismatch = model.ErrVersionMismatch
	// ErrTransport: the requested transport is not available; the text names the missing
	// part.
	ErrTransport = model.ErrTransport
	// ErrUnknownCollection: there is no collection of this name.
	ErrUnknownCollection = model.ErrUnknownCollection
	// ErrOption: an option's value is outside its range.
	ErrOption = model.ErrOption
	// ErrProtocol: the peer sent bytes that no correct peer sends.
	ErrProtocol = model.ErrProtocol
	// ErrServer: the server failed to carry out a well-formed request.
	ErrServer = model.ErrServer
	// ErrClosed: the Client, Server or Local was closed.
	ErrClosed = model.ErrClosed
	// ErrInUse: the listen address is taken.
	ErrInUse = model.ErrInUse
	// ErrBusy: the request would exceed what the server holds for one client, or for all.
	ErrBusy = model.ErrBusy
	// ErrTooLarge: the answer exceeds a limit, which the text names.
	ErrTooLarge = model.ErrTooLarge
	// ErrNotReady: the server has not loaded the collection yet.
	ErrNotReady = model.ErrNotReady
	// ErrNotPermitted: the server does not let clients do this, or not with their key.
	ErrNotPermitted = model.ErrNotPermitted
	// ErrKind: the collection has objects of another kind than the call.
	ErrKind = model.ErrKind
	// ErrRestarted: another server answers at the address, and lacks the objects of the
	// one before.
	ErrRestarted = model.ErrRestarted
	// ErrNotFound: there is no feature of this id, no record of this key.
	ErrNotFound = model.ErrNotFound
	// ErrExists: the write was for a new one (Condition.IfAbsent), and there is one.
	ErrExists = model.ErrExists
	// ErrConflict: its revision is not the one that the write requires
	// (Condition.IfRevision).
	ErrConflict = model.ErrConflict
	// ErrCollectionExists: there is a collection of this name, with other options.
	ErrCollectionExists = model.ErrCollectionExists
	// ErrName: a name that no collection may have.
	ErrName = model.ErrName
	// ErrFeature: a feature that cannot be stored; the text says why.
	ErrFeature = model.ErrFeature
	// ErrQuery: a query that no collection answers; the text says which part.
	ErrQuery = model.ErrQuery
	// ErrFilterCost: a filter took too long with a feature.
	ErrFilterCost = model.ErrFilterCost
	// ErrReadOnly: the disk is full or has failed.
	ErrReadOnly = model.ErrReadOnly
	// ErrNotPrimary: the server is a member of a group, and another member takes the writes, or
	// may do so: what was read here may be old.
	ErrNotPrimary = model.ErrNotPrimary
	// ErrTooFewInSync: the group has fewer members in sync than a write needs.
	ErrTooFewInSync = model.ErrTooFewInSync
	// ErrMoved: another group has what was asked for, or the map changed during the request.
	// Nothing was done: with the map of now the request may be made again.
	ErrMoved = model.ErrMoved
	// ErrSeveralGroups: several groups have the store together, and this call is not made of
	// several groups yet. Nothing was done.
	ErrSeveralGroups = model.ErrSeveralGroups
	// ErrPaused: a search was stopped for too long.
	ErrPaused = model.ErrPaused
	// ErrLagged: the events that a watch needs next are no longer kept.
	ErrLagged = model.ErrLagged
	// ErrWatchLimit: there are too many watchers or areas; the text says which.
	ErrWatchLimit = model.ErrWatchLimit
)

// RetrySafe reports whether the operation that failed with err had no effect, so that
// repeating it cannot do it twice: it was not sent, or it was refused.
func RetrySafe(err error) bool { return client.RetrySafe(err) }
