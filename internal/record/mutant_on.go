//go:build mutants

package record

import "github.com/catfish-index/catfish/internal/mutants"

// mutations is their number.
const mutations = killEarly + 1

var mutationNames = [mutations]string{
	"faithful", "sameGeneration", "noGrace", "noLease", "aliveEarly",
	"deadGranted", "keyUnchecked", "leaseLost", "blockEarly", "sumIgnored", "generationIgnored",
	"deadAccepted", "ackEarly", "killEarly",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially the one that the environment
// names. Tests set it while no goroutine reads or writes a heap.
var mutant = mutation(mutants.Chosen("record", mutationNames[:]))
