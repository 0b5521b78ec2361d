// Package status says how an error reaches a peer: as a code on the wire, as a
// status and reason of gRPC, as a status of HTTP; and what a retry does. There is
// one table of all errors that a peer may cause (table.go), so that a new one cannot
// be missing from one protocol.
package status

import (
	"errors"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// row is one error. A zero column is taken from a later row: an error may wrap two
// sentinels, and one protocol distinguishes more of them than another.
type row struct {
	err    error
	wire   uint16
	grpc   Code
	reason string // of gRPC
	http   int
	retry  Retry
}

// table is searched from the top. Sentinels that others wrap come after them.
// Of several errors with one wire code a client gets the first.
var table = []row{
	// A client's own errors, which say more than the causes that they wrap.
	// A member of a group, too, may not know the outcome of a write: no 503, and not
	// UNAVAILABLE, which ask for another attempt.
	{fastmsg.ErrUnknownOutcome, UnknownOutcome, unknown, ReasonUnknownOutcome, 500, Unknown},
	{fault.ErrUnknownOutcome, UnknownOutcome, unknown, ReasonUnknownOutcome, 500, Unknown},
	{fastmsg.ErrNotSent, 0, 0, "", 0, Safe},
	{fault.ErrNoServer, 0, 0, "", 0, Safe},
	{fault.ErrRestarted, 0, 0, "", 0, Safe},
	{fault.ErrOption, 0, 0, "", 0, Useless},
	{rdma.ErrDial, 0, 0, "", 0, Safe},
	{rdma.ErrRejected, 0, 0, "", 0, Safe},

	{access.ErrUnauthenticated, Unauthenticated, unauthenticated, ReasonNoKey, 401, Useless},
	{access.ErrRateLimited, RateLimited, resourceExhausted, ReasonRateLimited, 429, Safe},
	{access.ErrPermission, 0, permissionDenied, ReasonNoRole, 403, Useless},
	{fault.ErrNotPermitted, NotPermitted, failedPrecondition, ReasonFixed, 403, Useless},
	{access.ErrPermission, NotPermitted, 0, "", 0, 0},

	// What a malformed answer reports about is unknown.
	{fault.ErrProtocol, BadRequest, internal, ReasonInternal, 500, Unknown},
	{rstar.ErrBadRect, BadRect, invalidArgument, ReasonBadRect, 400, Useless},
	{fault.ErrTooLarge, TooLarge, resourceExhausted, ReasonResultTooLarge, 400, Useless},

	{fault.ErrUnknownCollection, UnknownCollection, notFound, ReasonNoCollection, 404, Useless},
	{fault.ErrCollectionExists, CollectionExists, alreadyExists, ReasonExists, 409, Useless},
	{fault.ErrKind, Kind, failedPrecondition, ReasonKind, 404, Useless},
	{fault.ErrOptions, Options, invalidArgument, ReasonBadField, 400, Useless},
	{names.ErrName, Name, invalidArgument, ReasonBadField, 400, Useless},

	// A watch that ended. ErrSwapped is an ErrLagged, which may be an ErrTrimmed.
	{fault.ErrSwapped, 0, aborted, ReasonSwapped, 410, Useless},
	{fault.ErrLagged, Lagged, outOfRange, ReasonLagged, 410, Useless},
	{fault.ErrTrimmed, Trimmed, outOfRange, ReasonNotKept, 410, Useless},
	{fault.ErrAhead, Ahead, outOfRange, ReasonAhead, 410, Useless},
	{fault.ErrWatchLimit, WatchLimit, resourceExhausted, ReasonWatchLimit, 503, Safe},

	{kv.ErrNotFound, NotFound, notFound, ReasonNoFeature, 404, Useless},
	{kv.ErrExists, Exists, alreadyExists, ReasonFeatureExists, 409, Useless},
	{kv.ErrConflict, Conflict, aborted, ReasonConflict, 412, Useless},
	{cuckoo.ErrScanLost, ScanLost, aborted, ReasonNotKept, 410, Useless},

	// What is wrong with a query or a feature. The wire has one code for all of a query
	// and one for all of a feature.
	{filter.ErrFilter, 0, invalidArgument, ReasonBadFilter, 400, Useless},
	{filter.ErrCost, FilterCost, resourceExhausted, ReasonFilterCost, 400, Useless},
	{feature.ErrTooLarge, 0, invalidArgument, ReasonFeatureTooLarge, 422, Useless},
	{feature.ErrSyntax, 0, 0, "", 400, Useless},
	{feature.ErrRange, 0, 0, "", 422, Useless},
	{feature.ErrInvalidGeometry, 0, 0, "", 422, Useless},
	{record.ErrTooLarge, RecordTooLarge, invalidArgument, ReasonFeatureTooLarge, 413, Useless},
	{fault.ErrFeature, Feature, invalidArgument, ReasonBadProperties, 422, Useless},
	{fault.ErrQuery, Query, invalidArgument, ReasonBadField, 400, Useless},

	{rstar.ErrSlabFull, SlabFull, resourceExhausted, ReasonSlabFull, 507, Useless},
	{record.ErrFull, RecordsFull, resourceExhausted, ReasonSlabFull, 507, Useless},
	{cuckoo.ErrFull, RecordsFull, resourceExhausted, ReasonSlabFull, 507, Useless},
	{cuckoo.ErrTooManyAlike, TooManyAlike, resourceExhausted, ReasonSlabFull, 507, Useless},

	// Later it may succeed.
	{fault.ErrReadOnly, ReadOnly, unavailable, ReasonReadOnly, 503, Safe},
	{fault.ErrNotPrimary, NotPrimary, unavailable, ReasonNotPrimary, 503, Safe},
	{fault.ErrMoved, Moved, unavailable, ReasonMoved, 503, Safe},
	{fault.ErrSeveralGroups, SeveralGroups, unimplemented, ReasonSeveralGroups, 501, Useless},
	{fault.ErrTooFewInSync, TooFewInSync, unavailable, ReasonTooFewInSync, 503, Safe},
	{fault.ErrPaused, Paused, unavailable, ReasonPaused, 503, Safe},
	{fault.ErrBusy, Busy, resourceExhausted, ReasonBusy, 503, Safe},
	{limits.ErrExceeded, Busy, resourceExhausted, ReasonBusy, 503, Safe},
	{fastmsg.ErrBusy, Busy, resourceExhausted, ReasonBusy, 503, Safe},
	{fault.ErrNotReady, NotReady, unavailable, ReasonLoading, 503, Safe},
	{rstar.ErrClosed, Closed, unavailable, ReasonClosed, 503, Safe},
	{kv.ErrClosed, Closed, unavailable, ReasonClosed, 503, Safe},
	{fault.ErrClosed, Closed, unavailable, ReasonClosed, 503, Safe},
	{fault.ErrDiskClosed, Closed, unavailable, ReasonClosed, 503, Safe},

	{rstar.ErrCheck, Check, internal, ReasonInternal, 500, Useless},
}

// Wire returns the code of err on the wire: Internal if the table has none.
func Wire(err error) uint16 {
	for i := range table {
		if r := &table[i]; r.wire != 0 && errors.Is(err, r.err) {
			return r.wire
		}
	}
	return Internal
}

// OfWire returns the error that a code stands for at a client: ErrServer for
// Internal and for the codes of a newer server.
func OfWire(code uint16) error {
	for i := range table {
		if r := &table[i]; r.wire == code && code != 0 {
			return r.err
		}
	}
	return fault.ErrServer
}

// GRPC returns the status code and the reason of err. It reports false if the
// table has none.
func GRPC(err error) (code Code, reason string, ok bool) {
	for i := range table {
		if r := &table[i]; r.grpc != 0 && errors.Is(err, r.err) {
			return r.grpc, r.reason, true
		}
	}
	return internal, ReasonInternal, false
}

// HTTP returns the status of err: 500 if the table has none.
func HTTP(err error) int {
	for i := range table {
		if r := &table[i]; r.http != 0 && errors.Is(err, r.err) {
			return r.http
		}
	}
	return 500
}

// RetryOf returns what a retry does after err: Unknown if the table has no row.
func RetryOf(err error) Retry {
	for i := range table {
		if r := &table[i]; r.retry != 0 && errors.Is(err, r.err) {
			return r.retry
		}
	}
	return Unknown
}
