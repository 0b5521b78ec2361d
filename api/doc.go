// Package api serves Catfish over gRPC (catfish.v1), for front ends that have
// no RDMA client.
//
// NewServer puts the service in front of a Backend: named collections,
// each with the methods of *rstar.Tree. The protocol and its promises are
// documented in api/catfish/v1/catfish.proto; docs/api.md has runnable
// examples, the limits and the table of errors.
//
// # Memory and slow clients
//
// A reading call first collects its answer from the collection, then streams
// it. So a client that reads slowly keeps its own answer in memory (40 bytes
// per object, bounded by WithMaxResults), but nothing of the collection: no
// lock, no node, no place in a worker's queue. The call ends with its
// deadline, or when keepalive finds the client dead.
//
// # Reading the source
//
// server.go (life cycle), then read.go, write.go, load.go (the calls),
// then errors.go (how errors become statuses).
package api
