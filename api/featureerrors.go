package api

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/protoadapt"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/record"
	failures "github.com/catfish-index/catfish/internal/status"
	"github.com/catfish-index/catfish/internal/store"
)

// Reasons of the calls on features and collections. docs/api.md lists the status
// code and the details of each.
const (
	ReasonBadGeoJSON      = failures.ReasonBadGeoJSON  // no GeoJSON geometry, or no WKB
	ReasonBadGeometry     = failures.ReasonBadGeometry // a ring that crosses itself, for example
	ReasonBadCoordinate   = failures.ReasonBadCoordinate
	ReasonBadProperties   = failures.ReasonBadProperties
	ReasonFeatureTooLarge = failures.ReasonFeatureTooLarge
	ReasonBadFilter       = failures.ReasonBadFilter
	ReasonFilterCost      = failures.ReasonFilterCost
	ReasonBadCursor       = "INVALID_PAGE_TOKEN"
	ReasonNoFeature       = failures.ReasonNoFeature
	ReasonFeatureExists   = failures.ReasonFeatureExists
	ReasonConflict        = failures.ReasonConflict
	ReasonExists          = failures.ReasonExists
	ReasonKind            = failures.ReasonKind
	ReasonFixed           = failures.ReasonFixed   // the server's owner fixed it
	ReasonSwapped         = failures.ReasonSwapped // of a watch
	ReasonReadOnly        = failures.ReasonReadOnly
	ReasonPaused          = failures.ReasonPaused
	ReasonNotPrimary      = failures.ReasonNotPrimary     // another member of the group takes writes
	ReasonMoved           = failures.ReasonMoved          // another group has it
	ReasonSeveralGroups   = failures.ReasonSeveralGroups  // gRPC is not served on several groups yet
	ReasonTooFewInSync    = failures.ReasonTooFewInSync   // for a write
	ReasonUnknownOutcome  = failures.ReasonUnknownOutcome // of a write: the primary was replaced meanwhile
	ReasonMessageTooLarge = "MESSAGE_TOO_LARGE"

	// Of Watch. After the first three: search again, and watch from then on.
	ReasonLagged     = failures.ReasonLagged     // the client was too slow
	ReasonNotKept    = failures.ReasonNotKept    // the log no longer has what follows the revision
	ReasonAhead      = failures.ReasonAhead      // the server never gave it
	ReasonWatchLimit = failures.ReasonWatchLimit // too many watches, areas or filters
	ReasonStopping   = "SERVER_STOPPING"
)

// Keys of ErrorInfo.metadata.
const (
	MetadataID     = "id"     // of a feature
	MetadataLine   = "line"   // of a filter, from 1
	MetadataColumn = "column" // in that line, in characters, from 1
	// MetadataRevision is the after_revision with which a Watch that ended can
	// continue. It is missing where the client has to search again.
	MetadataRevision = "revision"
	// MetadataPosition is the position in place of it, of several groups.
	MetadataPosition = "position"
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

// describe adds what ErrorInfo.metadata says of an error of a store.
func describe(m map[string]string, err error) {
	var of *featureError
	if errors.As(err, &of) {
		m[MetadataID] = of.id
	}
	var w *watchError
	if errors.As(err, &w) {
		if w.position != nil {
			m[MetadataPosition] = w.position.String()
		} else {
			m[MetadataRevision] = strconv.FormatUint(w.resume, 10)
		}
	}
	var f *filter.Error
	if errors.As(err, &f) {
		m[MetadataLine], m[MetadataColumn] = strconv.Itoa(f.Line), strconv.Itoa(f.Column)
	}
}

// resource is what was not found, or exists already.
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
