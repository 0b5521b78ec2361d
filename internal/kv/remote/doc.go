// Package remote reads a kv.Map in a server's memory by RDMA Reads. The server's CPU
// takes no part, and its writers continue meanwhile.
//
//	hash of key ---- both buckets, at once ------- round trip 1, 2 reads
//	reference ------ the record ------------------ round trip 2, 1 read
//
// The two round trips are one walk (package internal/cuckoo/remote), which may carry many
// keys. A value of more than a block takes a walk more (package internal/record/remote).
//
// A reference that was read in the index is good for a second from when that read was
// posted, whether its record is dead or not (internal/record/readers.go). A Reader counts from
// the walk's beginning, and reads the clock when the record has come. It looks a key up
// again if its record came too late, and counts from then.
//
// Index and records are two regions of the server's memory. Either may grow beyond
// what a client knows of it; a walk that would lead there ends with ErrGrown.
//
// A client that has kept a reference reads its record in one round trip, one read
// (GetKept; kept.go says when that is right). Pointers keeps references, for all
// clients of a process.
package remote
