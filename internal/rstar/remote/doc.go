// Package remote reads an R*-tree in a server's memory by RDMA Reads. The server's CPU
// takes no part, and its writer continues meanwhile.
//
// A Tree is a client's knowledge of one tree. A Reader searches it over a read channel
// (package offload). A Cache holds copies of internal nodes; Caches is the handle by
// which clients share them. The package knows nothing of messages, sessions or
// policies.
//
// Why such a search is right is argued in docs/design.md, "Readers without
// locks". This is the reader's part of that protocol.
//
// # A walk
//
// A walk is one attempt of a search. It reads the tree's header together
// with the root:
//
//	known header H (root, height, moves M) from an earlier walk
//	   |
//	   +-- read header ----> becomes H of the next walk; boot id checked
//	   +-- read root ------> rstar.ViewNode(chunk, level, M)
//	         +-- children that intersect, all at once, and so on
//
// M may be older than the tree. A node that was moved after M then carries a greater
// stamp, and the walk begins again. M must not be newer than the state that the walk's
// first read saw, and it is not: H was read before. No order between reads in flight is
// assumed. In particular, the header that a walk reads is used by later walks only.
//
// After a restart the walk reads the header first, alone, and uses it, since the M
// known from before has just failed. After MaxRestarts the search gives up, and its
// caller asks the server.
//
// # With a cache
//
// A walk does not read an internal node of which the cache has a copy. It follows the
// copies down to the leaves at once. Together with the leaves it reads the first line
// of each node whose copy it used, and validates the copy by that line:
//
//	known H and copies of root, A, B
//	   |
//	   +-- read leaves below A and B, and nodes without a copy
//	   +-- read first line of root, A, B --> rstar.Node.Validate
//	         unchanged: nothing more to do, one round trip
//	         changed:   read the node, continue with children not seen yet
//	         moved since M: begin again
//
// rstar/validate.go argues why the promises of a search still hold. The argument does
// not depend on which copies are used, nor on their age. Only one walk in HeaderEvery
// reads the header: an older M makes a walk restart if it meets a node that moved
// since, which is rare.
//
// The third attempt uses no copies. So whatever the cache holds, a search
// makes the progress that it would make without one.
//
// # Hostile memory
//
// A server's memory may hold anything. Every node is checked before it is used, every
// reference before it is followed, and a walk names no more nodes than the memory has
// room for. Content that no tree has ends the search with ErrProtocol or an error of
// rstar.
//
// # Reading order
//
// tree.go, reader.go, walk.go (the protocol above), search.go, any.go, nearest.go
// and many.go (the searches), cached.go and leafhead.go (which save
// reads), cache.go and caches.go, estimate.go.
package remote
