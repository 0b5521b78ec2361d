package rstar

import (
	"errors"
	"fmt"
)

// Copies of nodes that readers keep
//
// A remote reader may keep copies of internal nodes from search to search.
// A search that goes by a copy reads the first line of that node, at any
// moment of its own, and shows it to Validate. With one version in both, the
// copy is what a read of the whole node at that moment would have been: a
// writer marks the header line odd before it changes anything, and versions
// only grow. So the search is as one that read all its nodes by itself, with
// two differences.
//
//	by the protocol        with copies
//	header                 all of these at once:
//	  root                   first line of root, of A, leaf 1, leaf 2
//	    A
//	      leaf 1, leaf 2
//
// First, a child may have been read before its parent's line. That does no
// harm. About moves nothing is argued by order but that M was read before
// everything else, as here: every node that is accepted was, when it was
// read, as yet untouched by any move after M. So all of them are of one
// distribution of objects over nodes, and no object is missed or doubled.
// And what moves nothing keeps, at every instant, a path of boxes to each
// object that is there: the parent's boxes cover the object whenever they
// are looked at, if it is there then. If they do not, then at that moment it
// was not there, and the search saw it absent.
//
// Second, a copy may turn out to be old when children were read by its word
// already (ErrChanged). The search reads the node, accepts it by its stamp as
// it would any other, and compares: those children that it names and that
// were not visited are visited now. What was read by the old copy's word
// counts if the node still names it, wherever in the node: it is a child
// that the search had to visit, and was read at a moment as good as any. If a
// visited child is none of the node's any more, it may have become part of
// something else, and would be met twice: the search forgets everything and
// begins again. (Two copies that name the same child do no harm: the child
// has one parent, so one of them is old, and its node does not name it.) By
// then such a child may not even be a node of this level; so ErrCorrupt, of a
// node that a copy named, means to begin again without copies.
//
// TestExploreValidating tries all of this.

// ErrChanged: a node is not as it was when it was kept. It is to be read
// again; see Validate.
var ErrChanged = errors.New("rstar: node changed since it was kept")

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

// Validate compares n, kept from an earlier search, with line, a private
// copy of the first LineBytes of the same node, read atomically during this
// search, which began with moves. It returns nil if n is the node as it was
// when line was read, ErrTorn if line is to be read again, ErrMoved if the
// search is to begin again with a newer header, and ErrChanged if all of the
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
