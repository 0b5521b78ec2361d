package status

// Codes of failures on the wire. Released clients know these numbers: a new
// code goes to the end.
const (
	Internal uint16 = 1 + iota
	BadRequest
	BadRect
	SlabFull
	UnknownCollection
	Check
	Closed
	Busy
	TooLarge
	NotReady
	NotPermitted
	Kind
	NotFound
	Exists
	Conflict
	TooManyAlike
	RecordsFull
	RecordTooLarge
	ScanLost
	Query
	Feature
	ReadOnly
	Paused
	CollectionExists
	FilterCost
	Lagged
	Trimmed
	Ahead
	WatchLimit
	Name
	Options
	NotPrimary
	TooFewInSync
	UnknownOutcome
	Moved
	SeveralGroups
)

// Codes of failures about keys.
const (
	Unauthenticated uint16 = 64 + iota
	RateLimited
)

// Reasons are the values of ErrorInfo.reason in gRPC errors, which package api
// exports and docs/api.md describes.
const (
	ReasonNoKey           = "KEY_INVALID"
	ReasonNoRole          = "ROLE_MISSING"
	ReasonRateLimited     = "KEY_RATE_LIMIT"
	ReasonNoCollection    = "COLLECTION_NOT_FOUND"
	ReasonSwapped         = "COLLECTION_SWAPPED"
	ReasonLagged          = "WATCH_LAGGED"
	ReasonNotKept         = "REVISION_NOT_KEPT"
	ReasonAhead           = "REVISION_AHEAD"
	ReasonWatchLimit      = "WATCH_LIMIT"
	ReasonExists          = "COLLECTION_EXISTS"
	ReasonKind            = "COLLECTION_KIND"
	ReasonFixed           = "COLLECTION_FIXED"
	ReasonNoFeature       = "FEATURE_NOT_FOUND"
	ReasonFeatureExists   = "FEATURE_EXISTS"
	ReasonConflict        = "REVISION_CONFLICT"
	ReasonBadFilter       = "INVALID_FILTER"
	ReasonFilterCost      = "FILTER_COST"
	ReasonReadOnly        = "STORE_READ_ONLY"
	ReasonPaused          = "SEARCH_PAUSED"
	ReasonNotPrimary      = "NOT_PRIMARY"
	ReasonTooFewInSync    = "TOO_FEW_IN_SYNC"
	ReasonUnknownOutcome  = "OUTCOME_UNKNOWN"
	ReasonMoved           = "GROUP_MOVED"
	ReasonSeveralGroups   = "SEVERAL_GROUPS"
	ReasonClosed          = "COLLECTION_CLOSED"
	ReasonLoading         = "COLLECTION_LOADING"
	ReasonFeatureTooLarge = "FEATURE_TOO_LARGE"
	ReasonSlabFull        = "SLAB_FULL"
	ReasonBadProperties   = "INVALID_PROPERTIES"
	ReasonBadGeoJSON      = "INVALID_GEOMETRY_SYNTAX"
	ReasonBadGeometry     = "INVALID_GEOMETRY"
	ReasonBadCoordinate   = "COORDINATE_OUT_OF_RANGE"
	ReasonBadField        = "BAD_FIELD"
	ReasonBadRect         = "BAD_RECTANGLE"
	ReasonBusy            = "SERVER_BUSY"
	ReasonResultTooLarge  = "RESULT_TOO_LARGE"
	ReasonInternal        = "INTERNAL"
)

// Code is a status code of gRPC, as google.golang.org/grpc/codes numbers them. A
// client of rings needs no gRPC.
type Code uint32

const (
	unknown            Code = 2
	invalidArgument    Code = 3
	notFound           Code = 5
	alreadyExists      Code = 6
	permissionDenied   Code = 7
	resourceExhausted  Code = 8
	failedPrecondition Code = 9
	aborted            Code = 10
	outOfRange         Code = 11
	unimplemented      Code = 12
	internal           Code = 13
	unavailable        Code = 14
	unauthenticated    Code = 16
)

// Retry says what a request that failed has done, and what another attempt does.
// docs/api.md has it in the column "retry".
type Retry uint8

const (
	Unknown Retry = 1 + iota // it may have been done: look before another attempt
	Safe                     // nothing was done, and another attempt may succeed later
	Useless                  // nothing was done, and the same request will fail again
)
