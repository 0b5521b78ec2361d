// Package peers measures package rstar and other R-trees: the same objects,
// the same queries, one process, one core.
//
// `make bench-tree` at the root of the repository runs it; run.sh lists its
// variables. docs/decisions/peers.md lists the peers and the reasons.
//
// # What is comparable
//
// A peer's adapter does in its own loop what a program would do: one call of
// the library for each query, adding up the returned ids. So each peer is
// charged for its own work only: the adapters of Boost and GEOS loop in C++,
// and cgo is paid once for Batch queries.
//
// Before any timing, all peers answer a sample of the queries and must agree
// (bench_test.go).
//
// # Build tags
//
// Without tags there is no cgo, and the peers are those in Go. Tag boost needs
// Boost.Geometry (Debian: libboost-dev, g++), tag geos needs GEOS 3.11 or
// later (libgeos-dev, g++).
package peers
