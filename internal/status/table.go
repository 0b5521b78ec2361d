// Package status says how an error reaches a peer: as a code on the wire, as a
// status and reason of gRPC, as a status of HTTP. There is one table of all
// errors that a peer may cause (table.go), so that a new one cannot be missing
// from one protocol.
package status

import (
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/catfish/access"
	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/rdma/budget"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// row is one error. A zero column means that a later row has it: an error that
// wraps two sentinels is told apart more finely by one protocol than by
// another.
type row struct {
	err    error
	wire   uint16
	grpc   codes.Code
	reason string // of gRPC
	http   int
}

// table is searched from the top. Sentinels that others wrap come after them.
// Of several errors with one wire code a client gets the first.
var table = []row{
	{access.ErrUnauthenticated, Unauthenticated, codes.Unauthenticated, ReasonNoKey, http.StatusUnauthorized},
	{access.ErrRateLimited, RateLimited, codes.ResourceExhausted, ReasonRateLimited, http.StatusTooManyRequests},
	{access.ErrPermission, 0, codes.PermissionDenied, ReasonNoRole, http.StatusForbidden},
	{ErrNotPermitted, NotPermitted, codes.FailedPrecondition, ReasonFixed, http.StatusForbidden},
	{access.ErrPermission, NotPermitted, 0, "", 0},

	{ErrProtocol, BadRequest, codes.Internal, ReasonInternal, http.StatusInternalServerError},
	{rstar.ErrBadRect, BadRect, codes.InvalidArgument, ReasonBadRect, http.StatusBadRequest},
	{ErrTooLarge, TooLarge, codes.ResourceExhausted, ReasonResultTooLarge, http.StatusBadRequest},

	{store.ErrUnknownCollection, UnknownCollection, codes.NotFound, ReasonNoCollection, http.StatusNotFound},
	{store.ErrCollectionExists, CollectionExists, codes.AlreadyExists, ReasonExists, http.StatusConflict},
	{ErrKind, Kind, codes.FailedPrecondition, ReasonKind, http.StatusNotFound},
	{store.ErrOptions, Options, codes.InvalidArgument, ReasonBadField, http.StatusBadRequest},
	{store.ErrName, Name, codes.InvalidArgument, ReasonBadField, http.StatusBadRequest},

	// A watch that ended. ErrSwapped is an ErrLagged, which may be an ErrTrimmed.
	{store.ErrSwapped, 0, codes.Aborted, ReasonSwapped, http.StatusGone},
	{store.ErrLagged, Lagged, codes.OutOfRange, ReasonLagged, http.StatusGone},
	{disk.ErrTrimmed, Trimmed, codes.OutOfRange, ReasonNotKept, http.StatusGone},
	{disk.ErrAhead, Ahead, codes.OutOfRange, ReasonAhead, http.StatusGone},
	{store.ErrWatchLimit, WatchLimit, codes.ResourceExhausted, ReasonWatchLimit, http.StatusServiceUnavailable},

	{kv.ErrNotFound, NotFound, codes.NotFound, ReasonNoFeature, http.StatusNotFound},
	{kv.ErrExists, Exists, codes.AlreadyExists, ReasonFeatureExists, http.StatusConflict},
	{kv.ErrConflict, Conflict, codes.Aborted, ReasonConflict, http.StatusPreconditionFailed},
	{cuckoo.ErrScanLost, ScanLost, codes.Aborted, ReasonNotKept, http.StatusGone},

	// What is wrong with a query or a feature. The wire has one code for all of a query
	// and one for all of a feature.
	{filter.ErrFilter, 0, codes.InvalidArgument, ReasonBadFilter, http.StatusBadRequest},
	{filter.ErrCost, FilterCost, codes.ResourceExhausted, ReasonFilterCost, http.StatusBadRequest},
	{feature.ErrTooLarge, 0, codes.InvalidArgument, ReasonFeatureTooLarge, http.StatusUnprocessableEntity},
	{feature.ErrSyntax, 0, 0, "", http.StatusBadRequest},
	{feature.ErrRange, 0, 0, "", http.StatusUnprocessableEntity},
	{feature.ErrInvalidGeometry, 0, 0, "", http.StatusUnprocessableEntity},
	{record.ErrTooLarge, RecordTooLarge, codes.InvalidArgument, ReasonFeatureTooLarge, http.StatusRequestEntityTooLarge},
	{store.ErrFeature, Feature, codes.InvalidArgument, ReasonBadProperties, http.StatusUnprocessableEntity},
	{store.ErrQuery, Query, codes.InvalidArgument, ReasonBadField, http.StatusBadRequest},

	{rstar.ErrSlabFull, SlabFull, codes.ResourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{record.ErrFull, RecordsFull, codes.ResourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{cuckoo.ErrFull, RecordsFull, codes.ResourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{cuckoo.ErrTooManyAlike, TooManyAlike, codes.ResourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},

	// Later it may succeed.
	{disk.ErrReadOnly, ReadOnly, codes.Unavailable, ReasonReadOnly, http.StatusServiceUnavailable},
	{store.ErrPaused, Paused, codes.Unavailable, ReasonPaused, http.StatusServiceUnavailable},
	{ErrBusy, Busy, codes.ResourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{budget.ErrExceeded, Busy, codes.ResourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{fastmsg.ErrBusy, Busy, codes.ResourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{ErrNotReady, NotReady, codes.Unavailable, ReasonLoading, http.StatusServiceUnavailable},
	{rstar.ErrClosed, Closed, codes.Unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{kv.ErrClosed, Closed, codes.Unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{store.ErrClosed, Closed, codes.Unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{disk.ErrClosed, Closed, codes.Unavailable, ReasonClosed, http.StatusServiceUnavailable},

	{rstar.ErrCheck, Check, codes.Internal, ReasonInternal, http.StatusInternalServerError},
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
	return ErrServer
}

// GRPC returns the status code and the reason of err. It reports false if the
// table has none.
func GRPC(err error) (code codes.Code, reason string, ok bool) {
	for i := range table {
		if r := &table[i]; r.grpc != 0 && errors.Is(err, r.err) {
			return r.grpc, r.reason, true
		}
	}
	return codes.Internal, ReasonInternal, false
}

// HTTP returns the status of err: 500 if the table has none.
func HTTP(err error) int {
	for i := range table {
		if r := &table[i]; r.http != 0 && errors.Is(err, r.err) {
			return r.http
		}
	}
	return http.StatusInternalServerError
}
