package api

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/access"
	failures "github.com/catfish-index/catfish/internal/status"
)

// ErrorDomain is ErrorInfo.domain of all errors of this service.
const ErrorDomain = "catfish.v1"

// Reasons, the values of ErrorInfo.reason. docs/api.md lists the status code
// and the details of each.
const (
	ReasonBadRect        = failures.ReasonBadRect
	ReasonBadField       = failures.ReasonBadField
	ReasonNoCollection   = failures.ReasonNoCollection
	ReasonSlabFull       = failures.ReasonSlabFull
	ReasonResultTooLarge = failures.ReasonResultTooLarge
	ReasonLoadTooLarge   = "LOAD_TOO_LARGE"
	ReasonLoadBusy       = "LOAD_BUSY"
	ReasonBusy           = failures.ReasonBusy
	ReasonIdle           = "CLIENT_IDLE"
	ReasonClosed         = failures.ReasonClosed
	ReasonLoading        = failures.ReasonLoading // the server has not loaded it yet
	ReasonInternal       = failures.ReasonInternal
	ReasonNoKey          = failures.ReasonNoKey       // none, wrong, removed or expired
	ReasonNotPermitted   = failures.ReasonNoRole      // the key is good, not for this
	ReasonRateLimited    = failures.ReasonRateLimited // the key makes too many requests
)

// Keys of ErrorInfo.metadata.
const (
	MetadataCollection = "collection" // its name
	// MetadataLimit is the limit exceeded: objects of RESULT_TOO_LARGE, bytes
	// that one source may hold of the others.
	MetadataLimit = "limit"
)

const (
	// closedRetry suits a collection that is being replaced, or a server that
	// shuts down and is restarted by its supervisor.
	closedRetry = time.Second
	// busyRetry suits answers, which clients take within a second or so.
	busyRetry = time.Second
	// loadRetry suits uploads, which take seconds.
	loadRetry = 5 * time.Second
)

// fieldError is about one field of a request.
type fieldError struct {
	field  string // path within the request, like item.rect
	reason string
	err    error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

// limitError is about a limit of the server.
type limitError struct {
	reason, text string
	limit        int64
	retryAfter   time.Duration // 0: a retry is useless
}

func (e *limitError) Error() string { return e.text }

// statusOf returns err as a gRPC status error with details; extra ones are
// appended. An err that is already a status, as gRPC's own are, keeps code
// and message. The collection is empty if it is not known.
func statusOf(collection string, err error,
	extra ...protoadapt.MessageV1,
) error {
	code, reason := classify(err)
	st := status.New(code, textOf(err, maxErrorText))
	var details []protoadapt.MessageV1
	if own, ok := status.FromError(err); ok {
		st = own
	} else if code == codes.Canceled || code == codes.DeadlineExceeded {
		st = status.FromContextError(err)
	}
	if reason != "" {
		details = append(details, info(reason, collection, err))
	}
	details = append(details, advice(code, reason, collection, err)...)
	if full, e := st.WithDetails(append(details, extra...)...); e == nil {
		st = full
	}
	return st.Err()
}

// classify returns the code and reason of err. Without a reason the code is
// sufficient.
func classify(err error) (codes.Code, string) {
	var field *fieldError
	var limit *limitError
	var idle *idleError
	switch {
	case errors.As(err, &field):
		return codes.InvalidArgument, field.reason
	case errors.As(err, &limit):
		return codes.ResourceExhausted, limit.reason
	case errors.As(err, &idle):
		return codes.Aborted, ReasonIdle
	case errors.Is(err, errStopping):
		return codes.Unavailable, ReasonStopping
	case errors.Is(err, ErrNoCollection):
		return codes.NotFound, ReasonNoCollection
	}
	if code, reason, ok := failures.GRPC(err); ok {
		return codes.Code(code), reason
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded, ""
	case errors.Is(err, context.Canceled):
		return codes.Canceled, ""
	}
	if st, ok := status.FromError(err); ok {
		return st.Code(), ""
	}
	return codes.Internal, ReasonInternal
}

func info(reason, collection string, err error) *errdetails.ErrorInfo {
	m := map[string]string{}
	if collection != "" {
		m[MetadataCollection] = collection
	}
	var limit *limitError
	if errors.As(err, &limit) {
		m[MetadataLimit] = strconv.FormatInt(limit.limit, 10)
	}
	describe(m, err)
	return &errdetails.ErrorInfo{
		Reason: reason, Domain: ErrorDomain, Metadata: m,
	}
}

// advice returns the details with which a client can correct the request, or
// knows when to retry.
func advice(code codes.Code, reason, collection string, err error) (
	d []protoadapt.MessageV1,
) {
	var field *fieldError
	var limit *limitError
	var rate *access.RateLimitedError
	switch {
	case errors.As(err, &rate):
		d = append(d, retryIn(rate.RetryAfter))
	case errors.As(err, &field):
		d = append(d, &errdetails.BadRequest{
			FieldViolations: []*errdetails.BadRequest_FieldViolation{{
				Field: field.field, Description: textOf(field.err, maxErrorText),
				Reason: field.reason,
			}},
		})
	case errors.As(err, &limit) && limit.retryAfter > 0:
		d = append(d, retryIn(limit.retryAfter))
	case errors.Is(err, catfish.ErrBusy):
		d = append(d, retryIn(loadRetry))
	case code == codes.NotFound || code == codes.AlreadyExists:
		d = append(d, resource(reason, collection, err))
	case code == codes.Unavailable || failures.RetryOf(err) == failures.Safe:
		d = append(d, retryIn(closedRetry))
	}
	return d
}

func retryIn(d time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
}
