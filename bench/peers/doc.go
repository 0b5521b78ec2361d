// Package peers measures package rstar beside other R-trees: the same
// objects, the same queries, one process, one core.
//
// `make bench-tree` at the root of the repository runs it; run.sh says
// which variables it takes. docs/decisions/peers.md says who the peers
// are and why.
//
// # What is comparable
//
// A peer's adapter does in its own loop what a program would do in its:
// one call of the library for each query, the ids that it hands out added
// up. So nothing is charged to a peer but itself: the adapters of Boost
// and GEOS loop in C++, and cgo is paid once for Batch queries.
//
// Before anything is timed, all peers answer a sample of the queries and
// must agree (bench_test.go).
//
// # Build tags
//
// Without tags there is no cgo, and the peers are those in Go. Tag boost
// wants Boost.Geometry (Debian: libboost-dev, g++), tag geos wants GEOS
// 3.11 or later (libgeos-dev, g++).
package peers
