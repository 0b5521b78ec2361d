package api

import (
	"crypto/tls"
	"time"

	"google.golang.org/grpc"

	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/door"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/names"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// DefaultCollection is the collection that an empty name refers to.
const DefaultCollection = "default"

// Limits that clients encounter. docs/api.md repeats them.
const (
	// MaxNameBytes bounds a collection's name.
	MaxNameBytes = names.MaxBytes

	// BatchItems is the maximum number of objects in one message of an
	// answer: about 13 KB, so that per-message costs (some microseconds) are
	// spread over many objects, while several messages fit HTTP/2's initial
	// flow-control window of 64 KiB.
	BatchItems = 256
	// MaxQueries is the maximum number of queries of one SearchMany: small
	// ones take a core less than a millisecond.
	MaxQueries = 1024

	// MaxNearest is the largest k of a Nearest, as for RDMA clients: when
	// writers disturb a traversal it begins again, which costs as much as
	// everything it has found.
	MaxNearest = 1 << 16

	// DefaultMaxResults bounds one answer: 2^22 objects keep 168 MB in
	// the server until the client has read them.
	DefaultMaxResults = 1 << 22

	// DefaultMaxAnswerBytes bounds what all calls hold together: the largest
	// answers of six clients. A source may hold half, three of them.
	DefaultMaxAnswerBytes = 1 << 30

	// DefaultMaxLoadBytes bounds what all uploads hold together. A source
	// may hold three quarters: 17 million objects, at the 90 bytes that
	// each takes while the server makes room for more (upload.go).
	DefaultMaxLoadBytes = 2 << 30

	// DefaultMaxConnections bounds the open connections: with 100 KB each,
	// 0.4 GB. A source may have half.
	DefaultMaxConnections = 1 << 12

	// DefaultIdleTimeout is how long a call waits for its client.
	DefaultIdleTimeout = limits.IdleTimeout

	// DefaultMaxMessageBytes bounds one received message: 17,000 objects. An
	// upload reserves 35 times as much, which is what a message may take when
	// it is decoded.
	DefaultMaxMessageBytes = 1 << 20
)

// Option changes a default of NewServer.
type Option func(*options)

type options struct {
	maxResults      int
	maxAnswerBytes  int64
	maxLoadBytes    int64
	maxMessageBytes int
	maxConnections  int
	idle            time.Duration
	grpc            []grpc.ServerOption
	tls             *tls.Config
	features        *store.Store
	featuresLater   bool
	keys            *access.Keys
	group           *door.Group
	groups          *whole.Groups
	watchProgress   time.Duration
}

// WithMaxResults bounds the objects of one answer of Search, SearchMany or
// Nearest, DefaultMaxResults unless n is positive. Larger answers are refused
// with RESOURCE_EXHAUSTED.
func WithMaxResults(n int) Option {
	return func(o *options) { setPositive(&o.maxResults, n) }
}

// WithMaxAnswerBytes bounds the bytes that all calls in progress hold together,
// including answers that clients have not taken, DefaultMaxAnswerBytes unless n
// is positive. One source (an IPv4 host, an IPv6 network of 64 bits) may hold
// half. A call beyond that ends with RESOURCE_EXHAUSTED, SERVER_BUSY.
func WithMaxAnswerBytes(n int64) Option {
	return func(o *options) { setPositive(&o.maxAnswerBytes, n) }
}

// WithMaxLoadBytes bounds the bytes that all Loads in progress hold
// together, DefaultMaxLoadBytes unless n is positive. One source may hold
// three quarters. A Load beyond that ends with RESOURCE_EXHAUSTED.
func WithMaxLoadBytes(n int64) Option {
	return func(o *options) { setPositive(&o.maxLoadBytes, n) }
}

// WithMaxConnections bounds the open connections, DefaultMaxConnections
// unless n is positive. One source may have half. Those beyond are closed
// before a byte is answered.
func WithMaxConnections(n int) Option {
	return func(o *options) { setPositive(&o.maxConnections, n) }
}

// WithIdleTimeout sets how long a call waits for its client to send or to
// take a message, and a connection for its peer to take bytes,
// DefaultIdleTimeout unless d is positive.
func WithIdleTimeout(d time.Duration) Option {
	return func(o *options) { setPositive(&o.idle, d) }
}

// WithMaxMessageBytes bounds a received message of a Load,
// DefaultMaxMessageBytes unless n is positive. Messages of other calls are
// bounded by 256 KiB.
func WithMaxMessageBytes(n int) Option {
	return func(o *options) { setPositive(&o.maxMessageBytes, n) }
}

// WithWatchProgress sets the interval at which a Watch without events reports
// its progress, DefaultWatchProgress unless d is positive.
func WithWatchProgress(d time.Duration) Option {
	return func(o *options) { setPositive(&o.watchProgress, d) }
}

// WithKeys requires a key of each call, except those of health and reflection;
// see catfish.OpenKeys. Without keys, or with nil, any client that reaches the
// server may do everything.
func WithKeys(keys *server.Keys) Option {
	return func(o *options) { o.keys = keys }
}

// WithTLS makes the server speak TLS with t; nil: no TLS. Handshakes share
// scheduling slots with long calls. Those by credentials of WithGRPC would not.
func WithTLS(t *tls.Config) Option {
	return func(o *options) { o.tls = t }
}

// WithGroups says which groups may have the store together. For packages of this module.
func WithGroups(k *whole.Groups) Option {
	return func(o *options) { o.groups = k }
}

// WithGroup makes the server a door of a member's group: calls at a secondary are forwarded
// to the primary. nil: there is no group. For packages of this module.
func WithGroup(g *door.Group) Option {
	return func(o *options) { o.group = g }
}

// WithGRPC passes options to the gRPC server: interceptors, statistics. They
// follow the package's own. The package needs grpc.InTapHandle: NewServer
// panics if there is a second one.
func WithGRPC(opts ...grpc.ServerOption) Option {
	return func(o *options) { o.grpc = append(o.grpc, opts...) }
}

// WithFeatures also serves catfish.v1.FeatureService and CollectionService,
// from a store, which may be that of a catfish.Server.
func WithFeatures(st *server.Store) Option {
	return func(o *options) { o.features = st }
}

// WithFeaturesLater is WithFeatures for a server that has not loaded them yet.
// Until Server.ServeFeatures is called their calls end with UNAVAILABLE,
// COLLECTION_LOADING, and the health of these services, and of the server as a
// whole, is NOT_SERVING.
func WithFeaturesLater() Option {
	return func(o *options) { o.featuresLater = true }
}

func setPositive[T int | int64 | time.Duration](p *T, n T) {
	if n > 0 {
		*p = n
	}
}

func newOptions(opts []Option) options {
	o := options{
		maxResults:      DefaultMaxResults,
		maxAnswerBytes:  DefaultMaxAnswerBytes,
		maxLoadBytes:    DefaultMaxLoadBytes,
		maxMessageBytes: DefaultMaxMessageBytes,
		maxConnections:  DefaultMaxConnections,
		idle:            DefaultIdleTimeout,
		watchProgress:   DefaultWatchProgress,
	}
	for _, set := range opts {
		set(&o)
	}
	return o
}
