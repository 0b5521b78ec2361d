//go:build mutants

package rstar

import "github.com/catfish-index/catfish/internal/mutants"

// mutations is their number.
const mutations = oldLines + 1

var mutationNames = [mutations]string{
	"faithful", "noHeaderMark", "noLineMarks", "headerEarly", "headerFirst",
	"unstampedSource", "unstampedTarget", "unstampedParent", "unstampedFreed",
	"counterEarly", "counterStays", "laterStamps", "enlargeLate", "shrinkEarly",
	"trustsCopies", "keepsStrays", "movedCopies", "oldLines",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially the one that the environment
// names. Tests set it while no goroutine reads or writes a tree. Writers break their
// rules on the portable path only (Options.PortableStores).
var mutant = mutation(mutants.Chosen("rstar", mutationNames[:]))

// leavesStamp reports whether the mutant omits the stamp of a node that a
// move turns from old into new.
func leavesStamp(old, new node, fresh bool) bool {
	switch {
	case new.level() == freeLevel:
		return mutant == unstampedFreed
	case new.level() > 0:
		return mutant == unstampedParent
	case fresh || new.count() > old.count():
		return mutant == unstampedTarget
	}
	return mutant == unstampedSource
}
