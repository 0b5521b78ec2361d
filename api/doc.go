// Package api serves Catfish over gRPC (catfish.v1), for front ends that have
// no RDMA client.
//
// There are three services: CatfishService for rectangles, from a Backend, and
// FeatureService and CollectionService for features, from a store.Store.
//
// NewServer puts the service in front of a Backend: named collections,
// each with the methods of *rstar.Tree, and a host. ServerBackend makes one of a
// catfish.Server. The protocol and its promises are documented in
// api/catfish/v1/catfish.proto; docs/api.md has runnable examples, the limits
// and the table of errors.
//
// # Bounds
//
// Calls, uploads and connections count in budgets: bytes, or connections, of
// one source (an IPv4 host, an IPv6 network of 64 bits) and of all. A source
// may hold its share. If the total is exceeded, the largest call of the source
// that holds most ends, so that a source that holds little is served.
// Server.Budgets shows the budgets.
//
// A reading call first collects its answer from the collection, then streams
// it. It collects in steps of about 100 us. Between them it holds no lock,
// other calls work, and what it has found is counted. A client that reads
// slowly keeps its own answer in memory (40 bytes per object), but nothing of
// the collection. If it takes no message for WithIdleTimeout its call ends, and
// so does an upload that sends none.
//
// Not counted is what gRPC keeps of a call that has ended: up to 80 KB that
// the client has not taken, of at most 100 calls of a connection.
//
// # Files
//
// Every call:
//
//	server.go       NewServer and its life cycle; options.go; keys.go
//	service.go      the rectangles' service; backend.go, catfish.go: what it serves
//	call.go         what a call holds; intercept.go: around each; callwait.go: for its client; stack.go
//	forward.go      to the primary of the group
//	codec.go        messages; batches.go, sized.go: their buffers and sizes
//	errors.go       how errors become statuses (package status); errortext.go
//
// Rectangles:
//
//	read.go, many.go, nearest.go   searches; steps.go: their steps; boxgroups.go: of several groups
//	write.go, load.go, upload.go   writes; convert.go; stats.go
//
// Features:
//
//	features.go         what is served; collections.go, schema.go
//	featurequery.go     queries; featuresearch.go, featureget.go, featurenearest.go: their calls
//	ranking.go, cursor.go, pace.go   orders, pages, pauses of searches
//	featuremessage.go, answer.go, wkb.go   how answers are encoded
//	featurewrite.go, featureload.go   writes; featurewatch.go: watches
//	featureerrors.go    details of errors
package api
