// Package offload walks a linked structure in a server's memory by RDMA
// Reads: the client fetches blocks, checks and parses them itself, and
// follows the references in them. The server's CPU takes no part.
//
// The package knows nothing of the structure. A Traversal names the blocks to
// read next, in one of the regions of the walk, and visits those that arrived;
// a Channel carries the reads. R-trees, B+-trees and hash tables differ only in
// the Traversal; package internal/rstar/remote has the Traversals of R*-trees. A Cache
// saves reads of blocks that were read before.
//
//	Traversal.Next  ---> Channel posts a Read ---> server memory
//	Traversal.Visit <--- completion           <--- bytes
//	   Accept:  done with this block; Next may know more blocks now
//	   Retry:   the block was being written; read it again
//	   Restart: what was read before no longer fits; begin again
//
// Multi-issue (the paper, section IV-C): every block that is known is
// read at once, up to a window, without waiting for its siblings. A
// window of one is the paper's single-issue base line.
package offload
