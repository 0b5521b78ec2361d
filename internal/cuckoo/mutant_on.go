//go:build mutants

package cuckoo

import "github.com/catfish-index/catfish/internal/mutants"

var mutationNames = [...]string{
	"faithful", "noLineMarks", "overwriteLast", "noKickMark", "noStashMark",
	"movedEarly", "stashDropped", "unconfirmed",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially the one that the environment
// names. Tests set it while no goroutine reads or writes a table.
var mutant = mutation(mutants.Chosen("cuckoo", mutationNames[:]))
