// Package rstar is an R*-tree of rectangles in one flat slab of memory
// that many may read while one writes: goroutines of this process in
// place, other machines by RDMA Read.
//
// # Glossary
//
//   - rectangle (Rect): axis-parallel box of float64, borders included.
//   - item (Item): one object, a rectangle and the caller's 64-bit id.
//   - slab: the memory of one tree, cut into chunks of equal size.
//   - chunk: place of one node, named by its number; chunk 0 is the
//     tree's header.
//   - line: 64 bytes, one cache line, eight lanes of 8 bytes. Lane 0 of
//     every line is its version, odd while a writer changes the line.
//   - level: distance from the leaves, which are level 0. The root is at
//     level height-1.
//   - fanout (M in the paper): the most entries of a node; minimum fill
//     (m): the fewest of a node that is not the root.
//   - MBR: minimum bounding rectangle.
//   - move: a change that carries entries between nodes or frees a node.
//   - stamp: the number of the last move that changed a node.
//
// # Promises
//
// Everything is safe for concurrent use. One writer at a time changes
// the tree; readers take no lock and never stop it. A search is
//
//   - complete: an object that was in the tree during the whole search
//     and intersects is returned exactly once, also while Update moves
//     it, then at its old or its new place;
//   - sound: nothing is returned that was absent during the whole search;
//   - current: a write that has returned is seen by every search that
//     begins later.
//
// An atomic snapshot across objects is not promised. Items form a
// multiset: equal pairs of rectangle and id may coexist, and Delete
// removes one of them. What Nearest promises while writers run is told
// there.
//
// # Reading order
//
// layout.go draws the bytes; publish.go argues why readers need no lock;
// search.go and nearest.go read; tx.go makes a change one transaction;
// choose.go, insert.go, split.go, delete.go are Beckmann, Kriegel,
// Schneider and Seeger, "The R*-tree", SIGMOD 1990; load.go is Leutenegger,
// Lopez and Edgington's Sort-Tile-Recursive (STR), ICDE 1997; check.go
// lists the invariants; view.go is for remote readers.
package rstar
