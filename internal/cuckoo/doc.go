// Package cuckoo maps the 64-bit hash of a key to a 64-bit reference, in one
// slab of memory that other machines may read by RDMA Reads at the same time.
// References are opaque and never 0. The package knows no keys: a lookup gives
// candidates, the references of all keys whose hashes look alike, and the
// caller compares keys. Two different keys may have equal hashes.
//
// The interface Index has three implementations:
//
//   - G-Cuckoo (RHKV, section 3): two tables of buckets, insertion that knows
//     beforehand whether there is room, kicks from the vacancy backwards, and
//     a stash. With one item a bucket it is the paper's; with several, which
//     holds more in less memory, a bounded search takes the place of the rule.
//   - Conventional: the same layout, filled by random walks with a bound on
//     kicks, to compare.
//   - Compact: HydraDB's table (section 4.1), chained buckets of seven slots.
//
// # Concurrency
//
// The caller ensures that there is one writer at a time: it calls Insert, Replace,
// Delete, Scan, Advance, Len, Stats and PrefetchWrite under one lock. Lookup and
// Prefetch take no lock and may run at any time in any number of goroutines. Remote
// readers (package internal/cuckoo/remote) read the lines of the first two tables at the same
// time.
//
// A Lookup gives every reference that the index held under this hash during all of the
// Lookup, and none that it held at no moment of it. So each reference behaves as an
// atomic register. A key whose reference is replaced in the meantime is found under the
// old or the new one.
//
// # Reading order
//
// layout.go, publish.go (why readers need no lock), read.go, table.go,
// forest.go (the paper's insertion), search.go, walk.go, growth.go, stash.go,
// scan.go, compact.go.
package cuckoo
