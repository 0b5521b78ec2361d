package api

import "google.golang.org/grpc"

// DefaultCollection is the collection that an empty name refers to.
const DefaultCollection = "default"

// Limits that clients encounter. docs/api.md repeats them.
const (
	// MaxNameBytes bounds a collection's name. Names travel in error
	// details, which share HTTP/2's usual 8 KiB of headers.
	MaxNameBytes = 128

	// BatchItems is the maximum number of objects in one message of an
	// answer: about 13 KB, so that per-message costs (some microseconds) are
	// spread over many objects, while several messages fit HTTP/2's initial
	// flow-control window of 64 KiB.
	BatchItems = 256
	// MaxQueries is the maximum number of queries of one SearchMany: small
	// ones take a core less than a millisecond.
	MaxQueries = 1024

	// DefaultMaxResults bounds one answer: 2^22 objects keep 168 MB in
	// the server until the client has read them.
	DefaultMaxResults = 1 << 22

	// DefaultMaxLoadItems bounds the objects of all uploads in progress
	// together: 2^24 objects keep up to 0.7 GB.
	DefaultMaxLoadItems = 1 << 24

	// DefaultMaxMessageBytes bounds one received message; gRPC's own
	// default, which clients of every language expect.
	DefaultMaxMessageBytes = 4 << 20
)

// Option changes a default of NewServer.
type Option func(*options)

type options struct {
	maxResults      int
	maxLoadItems    int
	maxMessageBytes int
	grpc            []grpc.ServerOption
}

// WithMaxResults bounds the objects of one answer of Search, SearchMany or
// Nearest, DefaultMaxResults unless n is positive. Larger answers are refused
// with RESOURCE_EXHAUSTED.
func WithMaxResults(n int) Option {
	return func(o *options) { setPositive(&o.maxResults, n) }
}

// WithMaxLoadItems bounds the objects of all Loads in progress together,
// DefaultMaxLoadItems unless n is positive. A Load that would exceed it is
// refused with RESOURCE_EXHAUSTED and changes nothing.
func WithMaxLoadItems(n int) Option {
	return func(o *options) { setPositive(&o.maxLoadItems, n) }
}

// WithMaxMessageBytes bounds a received message,
// DefaultMaxMessageBytes unless n is positive.
func WithMaxMessageBytes(n int) Option {
	return func(o *options) { setPositive(&o.maxMessageBytes, n) }
}

// WithGRPC passes options to the gRPC server: transport credentials,
// interceptors, statistics. They follow the package's own.
func WithGRPC(opts ...grpc.ServerOption) Option {
	return func(o *options) { o.grpc = append(o.grpc, opts...) }
}

func setPositive(p *int, n int) {
	if n > 0 {
		*p = n
	}
}

func newOptions(opts []Option) options {
	o := options{
		maxResults:      DefaultMaxResults,
		maxLoadItems:    DefaultMaxLoadItems,
		maxMessageBytes: DefaultMaxMessageBytes,
	}
	for _, set := range opts {
		set(&o)
	}
	return o
}
