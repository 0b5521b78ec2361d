package api

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/protoadapt"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/feature/filter"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/disk"
)

// Reasons of the calls on features and collections. docs/api.md lists the status
// code and the details of each.
const (
	ReasonBadGeoJSON      = "INVALID_GEOMETRY_SYNTAX" // no GeoJSON geometry, or no WKB
	ReasonBadGeometry     = "INVALID_GEOMETRY"        // a ring that crosses itself, for example
	ReasonBadCoordinate   = "COORDINATE_OUT_OF_RANGE"
	ReasonBadProperties   = "INVALID_PROPERTIES"
	ReasonFeatureTooLarge = "FEATURE_TOO_LARGE"
	ReasonBadFilter       = "INVALID_FILTER"
	ReasonFilterCost      = "FILTER_COST"
	ReasonBadCursor       = "INVALID_PAGE_TOKEN"
	ReasonNoFeature       = "FEATURE_NOT_FOUND"
	ReasonFeatureExists   = "FEATURE_EXISTS"
	ReasonConflict        = "REVISION_CONFLICT"
	ReasonExists          = "COLLECTION_EXISTS"
	ReasonKind            = "COLLECTION_KIND"
	ReasonFixed           = "COLLECTION_FIXED"   // the server's owner has it so
	ReasonSwapped         = "COLLECTION_SWAPPED" // of a watch
	ReasonReadOnly        = "STORE_READ_ONLY"
	ReasonPaused          = "SEARCH_PAUSED"
	ReasonMessageTooLarge = "MESSAGE_TOO_LARGE"

	// Of Watch. After the first three: search again, and watch from then on.
	ReasonLagged     = "WATCH_LAGGED"      // the client was too slow
	ReasonNotKept    = "REVISION_NOT_KEPT" // what follows the revision is no longer there
	ReasonAhead      = "REVISION_AHEAD"    // the server never gave it
	ReasonWatchLimit = "WATCH_LIMIT"       // too many watches, areas or filters
	ReasonStopping   = "SERVER_STOPPING"
)

// Keys of ErrorInfo.metadata.
const (
	MetadataID     = "id"     // of a feature
	MetadataLine   = "line"   // of a filter, from 1
	MetadataColumn = "column" // in that line, in characters, from 1
	// MetadataRevision is the after_revision with which a Watch that ended goes on.
	// It is missing where the client has to search again.
	MetadataRevision = "revision"
)

type protoDetail = protoadapt.MessageV1

// featureError is about the feature of an id.
type featureError struct {
	id  string
	err error
}

func (e *featureError) Error() string { return e.err.Error() }
func (e *featureError) Unwrap() error { return e.err }

func ofFeature(id string, err error) error { return &featureError{clip(id, 128), err} }

// reasonOfFeature is the reason of an error of package feature about a field.
func reasonOfFeature(err error) string {
	switch {
	case errors.Is(err, feature.ErrSyntax):
		return ReasonBadGeoJSON
	case errors.Is(err, feature.ErrRange):
		return ReasonBadCoordinate
	case errors.Is(err, feature.ErrInvalidGeometry):
		return ReasonBadGeometry
	case errors.Is(err, feature.ErrTooLarge):
		return ReasonFeatureTooLarge
	}
	return ReasonBadField
}

// isFeatureError reports whether a write failed for what was written.
func isFeatureError(err error) bool {
	return errors.Is(err, store.ErrFeature) || errors.Is(err, record.ErrTooLarge) || errors.Is(err, feature.ErrTooLarge)
}

// classifyStore is classify for errors of a store.
func classifyStore(err error) (code codes.Code, reason string, ok bool) {
	for _, e := range []struct {
		is     error
		code   codes.Code
		reason string
	}{
		{store.ErrUnknownCollection, codes.NotFound, ReasonNoCollection},
		{store.ErrSwapped, codes.Aborted, ReasonSwapped}, // It is an ErrLagged, too.
		{store.ErrLagged, codes.OutOfRange, ReasonLagged},
		{disk.ErrTrimmed, codes.OutOfRange, ReasonNotKept},
		{disk.ErrAhead, codes.OutOfRange, ReasonAhead},
		{store.ErrWatchLimit, codes.ResourceExhausted, ReasonWatchLimit},
		{errStopping, codes.Unavailable, ReasonStopping},
		{store.ErrCollectionExists, codes.AlreadyExists, ReasonExists},
		{catfish.ErrKind, codes.FailedPrecondition, ReasonKind},
		{catfish.ErrNotPermitted, codes.FailedPrecondition, ReasonFixed},
		{kv.ErrNotFound, codes.NotFound, ReasonNoFeature},
		{kv.ErrExists, codes.AlreadyExists, ReasonFeatureExists},
		{kv.ErrConflict, codes.Aborted, ReasonConflict},
		{filter.ErrFilter, codes.InvalidArgument, ReasonBadFilter},
		{filter.ErrCost, codes.ResourceExhausted, ReasonFilterCost},
		{disk.ErrReadOnly, codes.Unavailable, ReasonReadOnly},
		{store.ErrPaused, codes.Unavailable, ReasonPaused},
		{store.ErrClosed, codes.Unavailable, ReasonClosed},
		{kv.ErrClosed, codes.Unavailable, ReasonClosed},
		{disk.ErrClosed, codes.Unavailable, ReasonClosed},
		{record.ErrTooLarge, codes.InvalidArgument, ReasonFeatureTooLarge},
		{feature.ErrTooLarge, codes.InvalidArgument, ReasonFeatureTooLarge},
		{record.ErrFull, codes.ResourceExhausted, ReasonSlabFull},
		{cuckoo.ErrFull, codes.ResourceExhausted, ReasonSlabFull},
		{cuckoo.ErrTooManyAlike, codes.ResourceExhausted, ReasonSlabFull},
		{store.ErrFeature, codes.InvalidArgument, ReasonBadProperties},
		{store.ErrName, codes.InvalidArgument, ReasonBadField},
		{store.ErrQuery, codes.InvalidArgument, ReasonBadField},
	} {
		if errors.Is(err, e.is) {
			return e.code, e.reason, true
		}
	}
	return codes.OK, "", false
}

// describe adds what ErrorInfo.metadata says of an error of a store.
func describe(m map[string]string, err error) {
	var of *featureError
	if errors.As(err, &of) {
		m[MetadataID] = of.id
	}
	var w *watchError
	if errors.As(err, &w) {
		m[MetadataRevision] = strconv.FormatUint(w.resume, 10)
	}
	var f *filter.Error
	if errors.As(err, &f) {
		m[MetadataLine], m[MetadataColumn] = strconv.Itoa(f.Line), strconv.Itoa(f.Column)
	}
}

// searchesAgain reports whether a watch cannot go on where it was.
func searchesAgain(err error) bool {
	return errors.Is(err, store.ErrLagged) || errors.Is(err, disk.ErrTrimmed) || errors.Is(err, disk.ErrAhead)
}

// resource is what was not found, or is there already.
func resource(reason, collection string, err error) protoDetail {
	r := &errdetails.ResourceInfo{
		ResourceType: "collection", ResourceName: collection, Description: textOf(err, maxErrorText),
	}
	var of *featureError
	if errors.As(err, &of) && (reason == ReasonNoFeature || reason == ReasonFeatureExists) {
		r.ResourceType, r.ResourceName = "feature", of.id
	}
	return r
}

// maxErrorText bounds the texts of an error: a status travels in headers, of
// which HTTP/2 clients usually accept 8 KiB, the text twice: encoded, and in
// base64 with the details.
const maxErrorText = 800

// tooLarge is about a message beyond a limit.
func tooLarge(bytes, limit int) error {
	return &limitError{
		reason: ReasonMessageTooLarge, limit: int64(limit),
		text: fmt.Sprintf("message of %d bytes, at most %d are accepted", bytes, limit),
	}
}
