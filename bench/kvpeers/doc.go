// Package kvpeers measures key-value servers that Catfish's records are
// compared with: Redis and memcached, with the operations of datasets/ycsb.
//
//	cd bench/kvpeers
//	go run ./cmd/kvpeers -mix A -keys 1000000 -json -
//
// It is a module of its own, so that programs that import Catfish inherit no
// client of another server. docs/decisions/kv-peers.md says which clients are
// used and why.
//
// # What is comparable
//
// A server is a process of its own with one thread for requests, on cores of
// its own, over loopback or a unix socket; nothing is written to disk.
// Clients are closed loops: each has so many operations in flight, and none
// more before one is done. All values that are read are checked, and a key
// that is not found ends the run with an error: a server that forgets would
// otherwise win.
//
// How operations are in flight depends on the peer:
//
//	redis       a connection a client; n commands are sent together, and
//	            the next n when all are answered
//	redis-auto  a connection a client, shared by n goroutines with one
//	            operation each, which rueidis pipelines by itself
//	memcached   as redis
//
// The latency of an operation that is sent with others is the time until
// all of them are answered. A read-modify-write is sent as a read, then, with
// those of its fellows, as a write.
//
// The source is best read from conn.go on.
package kvpeers
