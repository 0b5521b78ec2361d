// Package btree is a B+-tree that clients read one-sidedly: a demonstration that the
// framework serves a structure that it does not know (the Catfish paper, section VI). All
// that is of B+-trees is in this package; package offload walks, fastmsg carries requests,
// heartbeat and internal/policy decide, and none of them was changed for it.
//
//	layout.go   a node in registered memory, and checks of its bytes
//	follow.go   one step of a search, the same for local and remote readers
//	tree.go     the writer, and local readers
//	walk.go     the offload.Traversal
//	server.go   the tree behind fastmsg, with heartbeats
//	client.go   a client that sends or offloads each read, as its policy says
//	run.go      catfish bench btree
//
// # The structure
//
// It is a B-link tree (Lehman and Yao, "Efficient locking for concurrent operations on
// B-trees", TODS 1981). Each node knows the last key that it covers, and its right
// neighbour, so a reader that comes to a node that was split meanwhile moves right:
//
//	before            | ... 90 | last 99, right C
//	(1) new node      | 50 ... 90 | last 99, right C         no reference leads to it
//	(2) the old one   | ... 40 | last 49, right is the new node
//	(3) the parent    gets the entry 50, and may be split itself
//
// The root is always chunk 1. When it is split, its entries go to two new nodes, and it
// becomes their parent, so readers need no header. Deletes take entries out of leaves and
// free no node, as in Lehman and Yao's tree: no chunk is used twice, and an old reference
// leads to the node, or to the left of where its keys are now.
//
// # What a range read promises
//
// A read of an interval divides it: each node that it comes to answers for the part that
// the node covers in the bytes that were read, and passes on the rest. So each key is
// looked for in exactly one version of one leaf. A key that is in the tree during all of
// the read is in that version: it only moves to the right, by (2), into a node that was
// complete before, by (1). So it is found once.
//
// # One node
//
// A version in each cache line makes a node one snapshot, by the protocol of package rstar
// (rstar/publish.go has the proof). Local readers copy lines by package lines.
package btree
