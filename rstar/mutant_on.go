//go:build mutants

package rstar

import (
	"fmt"
	"os"
	"slices"
)

// mutations is how many there are.
const mutations = oldLines + 1

var mutationNames = [mutations]string{
	"faithful", "noHeaderMark", "noLineMarks", "headerEarly", "headerFirst",
	"unstampedSource", "unstampedTarget", "unstampedParent", "unstampedFreed",
	"counterEarly", "counterStays", "laterStamps", "enlargeLate", "shrinkEarly",
	"trustsCopies", "keepsStrays", "movedCopies", "oldLines",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially CATFISH_MUTANT.
// Tests set it while nobody reads or writes a tree. Writers break theirs on
// the portable path only (Options.PortableStores).
var mutant = func() mutation {
	name := os.Getenv("CATFISH_MUTANT")
	if name == "" {
		return faithful
	}
	m := slices.Index(mutationNames[:], name)
	if m < 0 {
		panic(fmt.Sprintf("rstar: CATFISH_MUTANT is %q, want one of %q", name, mutationNames))
	}
	return mutation(m)
}()

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
