package rstar

// mutation is a rule of publish.go that is broken on purpose, to show that
// the tests would notice (docs/decisions/explorer.md). Only builds with the
// tag mutants have any but the first.
type mutation int

const (
	faithful mutation = iota

	// One node.
	noHeaderMark // (1) leaves the header line's version even
	noLineMarks  // (1) leaves the other lines' versions even
	headerEarly  // (3) comes before (2) for the header line
	headerFirst  // (3) begins with the header line

	// Several nodes. A node that a move changes gets no stamp.
	unstampedSource // a leaf that loses entries
	unstampedTarget // a leaf that gets entries
	unstampedParent // an internal node
	unstampedFreed  // a node that is freed
	counterEarly    // M+1 is stored before the nodes of its move
	counterStays    // M is never advanced
	laterStamps     // readers accept stamps greater than M

	// Changes that move nothing.
	enlargeLate // boxes grow after the entry has appeared
	shrinkEarly // boxes shrink before the entry is deleted

	// Readers that cache copies (validate.go).
	trustsCopies // the line's version is not compared
	keepsStrays  // visited children are not looked up in the node that was read again
	movedCopies  // stamps above M are accepted in lines and copies
	oldLines     // a line that was read before the search is accepted
)
