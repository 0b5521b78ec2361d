// Package kvpeers has the key-value servers that Catfish's records are compared
// with, Redis and memcached, as servers and stores of package bench/kv, which
// measures them as it does Catfish.
//
//	cd bench/peers
//	go run ./cmd/kvpeers -mix A -keys 1000000 -json -
//	go run ./cmd/kvpeers -catfish ../../bin/catfish -transport shm
//
// With the program catfish, the schemes of `catfish bench kv` run in the same
// rounds and stand in the same table, and another table has each throughput as
// a multiple of each peer's.
//
// It is in a module of its own, so that programs that import Catfish inherit no
// client of another server. docs/decisions/kv-peers.md says which clients are
// used and why.
//
// # What is comparable
//
// A server is a process of its own with one thread for requests, on the cores
// that Catfish's server has in its runs, over loopback (redis-tcp) or a unix
// socket (redis-unix); it writes nothing to disk, unless -sync says so: Redis logs then, and memcached is left out. Each run has a fresh server,
// and loads it. Keys, values, operations, the closed loop and the check of
// every value are those of bench/kv.
//
// How operations are in flight depends on the peer:
//
//	redis       a connection a client; n commands are sent together, and
//	            the next n when all are answered
//	redis-auto  a connection a client, shared by n goroutines with one
//	            operation each, which rueidis pipelines
//	memcached   as redis
//
// The latency of an operation that is sent with others is the time until all
// of them are answered. A read-modify-write is sent as a read, then as a write
// together with the other writes.
//
// Read the source starting with conn.go.
package kvpeers
