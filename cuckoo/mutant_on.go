//go:build mutants

package cuckoo

import (
	"fmt"
	"os"
	"slices"
)

var mutationNames = [...]string{
	"faithful", "noLineMarks", "overwriteLast", "noKickMark", "noStashMark",
	"movedEarly", "stashDropped", "unconfirmed",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially CATFISH_MUTANT.
// Tests set it while nobody reads or writes a table.
var mutant = func() mutation {
	name := os.Getenv("CATFISH_MUTANT")
	if name == "" {
		return faithful
	}
	m := slices.Index(mutationNames[:], name)
	if m < 0 {
		panic(fmt.Sprintf("cuckoo: CATFISH_MUTANT is %q, want one of %q", name, mutationNames))
	}
	return mutation(m)
}()
