// Package remote looks keys up in a cuckoo table in a server's memory by RDMA Reads.
// The server's CPU takes no part, and its writer continues meanwhile.
//
// A Table is a client's knowledge of one table. A Walk is an offload.Traversal that
// looks up one hash or many; it hands references to a Follower, which reads the records
// and compares keys, in the same walk:
//
//	known header
//	   +-- both buckets, at once ---------------- round trip 1, 2 reads
//	         +-- the candidate's record --------- round trip 2, 1 read
//
// With 16 bits of signature a candidate is another key's in one of some 6000 lookups of
// ten places, and the key's own nearly always. An absent key costs the first round trip
// alone, unless a mark in the buckets says that it may have been missed (internal/cuckoo/publish.go,
// "Remote readers"):
//
//	in neither bucket, but marked
//	   +-- the stash, if that is marked
//	         +-- candidates' records
//	               +-- both buckets again: unchanged, so the key is absent
//
// While the table grows both buckets of the old tables are read as well, in
// the same round trip.
//
// A client's header may be old, since it is read only when needed: at first,
// and when a bucket says that it has moved. The argument needs no fresh one.
//
// A walk whose header leads beyond Table.Bytes ends with cuckoo.ErrGrown, and has read
// nothing there. Where memory is registered as it is needed, the owner then asks the
// server for a new Table; the present one still serves walks that meet no newer header.
//
// # Hostile memory
//
// A server's memory may hold anything. Headers are checked before they are used, lines
// only lead to what the Walk computes from hash and header, and references go to the
// Follower, which must check them. A lookup makes a bounded number of attempts and then
// ends Unsettled.
package remote
