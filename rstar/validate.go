package rstar

import (
	"errors"
	"fmt"
)

// Cached copies of nodes
//
// A remote reader may cache copies of internal nodes from search to search. A search
// that uses a copy reads the first line of that node, at any moment during the search,
// and passes it to Validate. If the line and the copy have the same version, the copy
// equals the result of a read of the whole node at that moment: a writer marks the
// header line odd before it changes anything, and versions only grow. So the search is
// like one that read all its nodes from the slab, with two differences.
//
//	by the protocol        with copies
//	header                 all of these at once:
//	  root                   first line of root, of A, leaf 1, leaf 2
//	    A
//	      leaf 1, leaf 2
//
// First, a child may have been read before its parent's line. That does no harm. For
// moves, the argument needs no order except that M was read before everything else, as
// here: every node that is accepted was, when it was read, not yet touched by any move
// after M. So all of them belong to one distribution of objects over nodes, and no
// object is missed or returned twice. And changes that move nothing keep, at every
// instant, a path of boxes to each object in the tree: the parent's boxes cover the
// object whenever they are read, if it is in the tree then. If they do not cover it,
// then it was not in the tree at that moment, and the search saw it absent.
//
// Second, a copy may turn out to be old after children were read because of it
// (ErrChanged). The search reads the node, accepts it by its stamp as it would any
// other, and compares: children that it names and that were not visited are visited
// now. A child that was read because of the old copy counts if the node still names it,
// at whatever index: the search had to visit it, and read it at a moment as good as
// any. If a visited child is no longer a child of the node, it may have become part of
// another node, and its objects could be returned twice: the search discards everything
// and begins again. (Two copies that name the same child do no harm: the child has one
// parent, so one of them is old, and its node does not name it.) At that moment such a
// child may not even be a node of this level; so ErrCorrupt, for a node that a copy
// named, means to begin again without copies.
//
// TestExploreValidating tries all of this.

// ErrChanged: a node has changed since it was cached. Read it again; see
// Validate.
var ErrChanged = errors.New("rstar: node changed since it was cached")

// Stamp is the number of the last move that changed the node.
func (n Node) Stamp() uint64 { return word(n.b, laneStamp) }

// Names reports whether ref is one of the node's references.
func (n Node) Names(ref uint64) bool {
	for i := range n.count {
		if n.Ref(i) == ref {
			return true
		}
	}
	return false
}

// Validate compares n, cached by an earlier search, with line, a private copy
// of the first LineBytes of the same node, read atomically during this
// search, which began with moves. It returns nil if n is the node as it was
// when line was read, ErrTorn if line is to be read again, ErrMoved if the
// search is to begin again with a newer header, and ErrChanged if the whole
// node is to be read. Any bytes are safe.
func (n Node) Validate(line []byte, moves uint64) error {
	if len(line) < LineBytes {
		return fmt.Errorf("%w: %d bytes of a node, want %d", ErrCorrupt, len(line), LineBytes)
	}
	v, s := word(line, 0), word(line, laneStamp)
	switch {
	case v&1 != 0:
		return ErrTorn
	case (s > moves || n.Stamp() > moves) && mutant != movedCopies:
		return ErrMoved
	case v == word(n.b, 0) || mutant == trustsCopies:
		return nil
	}
	return ErrChanged
}
