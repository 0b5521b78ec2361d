//go:build mutants

package record

import (
	"fmt"
	"os"
	"slices"
)

// mutations is how many there are.
const mutations = killEarly + 1

var mutationNames = [mutations]string{
	"faithful", "sameGeneration", "noGrace", "noLease", "aliveEarly",
	"deadGranted", "keyUnchecked", "sumIgnored", "generationIgnored",
	"deadAccepted", "ackEarly", "killEarly",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially CATFISH_MUTANT.
// Tests set it while nobody reads or writes a heap.
var mutant = func() mutation {
	name := os.Getenv("CATFISH_MUTANT")
	if name == "" {
		return faithful
	}
	m := slices.Index(mutationNames[:], name)
	if m < 0 {
		panic(fmt.Sprintf("record: CATFISH_MUTANT is %q, want one of %q", name, mutationNames))
	}
	return mutation(m)
}()
