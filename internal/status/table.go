// Package status says how an error reaches a peer: as a code on the wire, as a
// status and reason of gRPC, as a status of HTTP. There is one table of all
// errors that a peer may cause (table.go), so that a new one cannot be missing
// from one protocol.
package status

import (
	"errors"
	"net/http"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
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
}

// table is searched from the top. Sentinels that others wrap come after them.
// Of several errors with one wire code a client gets the first.
var table = []row{
	{access.ErrUnauthenticated, Unauthenticated, unauthenticated, ReasonNoKey, http.StatusUnauthorized},
	{access.ErrRateLimited, RateLimited, resourceExhausted, ReasonRateLimited, http.StatusTooManyRequests},
	{access.ErrPermission, 0, permissionDenied, ReasonNoRole, http.StatusForbidden},
	{ErrNotPermitted, NotPermitted, failedPrecondition, ReasonFixed, http.StatusForbidden},
	{access.ErrPermission, NotPermitted, 0, "", 0},

	{ErrProtocol, BadRequest, internal, ReasonInternal, http.StatusInternalServerError},
	{rstar.ErrBadRect, BadRect, invalidArgument, ReasonBadRect, http.StatusBadRequest},
	{ErrTooLarge, TooLarge, resourceExhausted, ReasonResultTooLarge, http.StatusBadRequest},

	{fault.ErrUnknownCollection, UnknownCollection, notFound, ReasonNoCollection, http.StatusNotFound},
	{fault.ErrCollectionExists, CollectionExists, alreadyExists, ReasonExists, http.StatusConflict},
	{ErrKind, Kind, failedPrecondition, ReasonKind, http.StatusNotFound},
	{fault.ErrOptions, Options, invalidArgument, ReasonBadField, http.StatusBadRequest},
	{names.ErrName, Name, invalidArgument, ReasonBadField, http.StatusBadRequest},

	// A watch that ended. ErrSwapped is an ErrLagged, which may be an ErrTrimmed.
	{fault.ErrSwapped, 0, aborted, ReasonSwapped, http.StatusGone},
	{fault.ErrLagged, Lagged, outOfRange, ReasonLagged, http.StatusGone},
	{fault.ErrTrimmed, Trimmed, outOfRange, ReasonNotKept, http.StatusGone},
	{fault.ErrAhead, Ahead, outOfRange, ReasonAhead, http.StatusGone},
	{fault.ErrWatchLimit, WatchLimit, resourceExhausted, ReasonWatchLimit, http.StatusServiceUnavailable},

	{kv.ErrNotFound, NotFound, notFound, ReasonNoFeature, http.StatusNotFound},
	{kv.ErrExists, Exists, alreadyExists, ReasonFeatureExists, http.StatusConflict},
	{kv.ErrConflict, Conflict, aborted, ReasonConflict, http.StatusPreconditionFailed},
	{cuckoo.ErrScanLost, ScanLost, aborted, ReasonNotKept, http.StatusGone},

	// What is wrong with a query or a feature. The wire has one code for all of a query
	// and one for all of a feature.
	{filter.ErrFilter, 0, invalidArgument, ReasonBadFilter, http.StatusBadRequest},
	{filter.ErrCost, FilterCost, resourceExhausted, ReasonFilterCost, http.StatusBadRequest},
	{feature.ErrTooLarge, 0, invalidArgument, ReasonFeatureTooLarge, http.StatusUnprocessableEntity},
	{feature.ErrSyntax, 0, 0, "", http.StatusBadRequest},
	{feature.ErrRange, 0, 0, "", http.StatusUnprocessableEntity},
	{feature.ErrInvalidGeometry, 0, 0, "", http.StatusUnprocessableEntity},
	{record.ErrTooLarge, RecordTooLarge, invalidArgument, ReasonFeatureTooLarge, http.StatusRequestEntityTooLarge},
	{fault.ErrFeature, Feature, invalidArgument, ReasonBadProperties, http.StatusUnprocessableEntity},
	{fault.ErrQuery, Query, invalidArgument, ReasonBadField, http.StatusBadRequest},

	{rstar.ErrSlabFull, SlabFull, resourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{record.ErrFull, RecordsFull, resourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{cuckoo.ErrFull, RecordsFull, resourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},
	{cuckoo.ErrTooManyAlike, TooManyAlike, resourceExhausted, ReasonSlabFull, http.StatusInsufficientStorage},

	// Later it may succeed.
	{fault.ErrReadOnly, ReadOnly, unavailable, ReasonReadOnly, http.StatusServiceUnavailable},
	{fault.ErrPaused, Paused, unavailable, ReasonPaused, http.StatusServiceUnavailable},
	{ErrBusy, Busy, resourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{limits.ErrExceeded, Busy, resourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{fastmsg.ErrBusy, Busy, resourceExhausted, ReasonBusy, http.StatusServiceUnavailable},
	{ErrNotReady, NotReady, unavailable, ReasonLoading, http.StatusServiceUnavailable},
	{rstar.ErrClosed, Closed, unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{kv.ErrClosed, Closed, unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{fault.ErrClosed, Closed, unavailable, ReasonClosed, http.StatusServiceUnavailable},
	{fault.ErrDiskClosed, Closed, unavailable, ReasonClosed, http.StatusServiceUnavailable},

	{rstar.ErrCheck, Check, internal, ReasonInternal, http.StatusInternalServerError},
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
	return http.StatusInternalServerError
}
