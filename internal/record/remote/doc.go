// Package remote reads records (package record) in a server's memory by RDMA Reads. The
// server's CPU takes no part, and its writer continues meanwhile.
//
// A Walk is an offload.Traversal that reads any number of references at once:
//
//	round trip 1   every record up to 64 KiB, the heads of longer ones
//	round trip 2   all blocks of those
//
// Each answer is independent: a stale, malformed or late record is the error of its
// Item, and ends nothing else. Records are immutable, so nothing is read twice: a torn
// record means that its place was used again.
//
// An Item may have a time until which its answer counts: the end of the lease, or of
// the base grace. The Walk reads the clock after each read has arrived, and refuses
// records that came too late (internal/record/readers.go).
//
// # Hostile memory
//
// Bytes are checked before they are used. A Walk reads each reference once;
// a head names as many blocks as its value needs, and no block names another;
// so a Walk ends. Memory for values is bounded by Limits.
package remote
