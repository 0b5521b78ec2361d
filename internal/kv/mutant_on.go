//go:build mutants

package kv

import "github.com/catfish-index/catfish/internal/mutants"

// mutations is their number.
const mutations = neverDead + 1

var mutationNames = [mutations]string{
	"faithful", "deadAtFirst", "notFollowed", "notUndone", "undoneLate",
	"undoneAlive", "killFirst", "killBetween", "neverDead",
}

func (m mutation) String() string { return mutationNames[m] }

// mutant is the rule that this process breaks, initially the one that the environment
// names. Tests set it while no goroutine uses a Map.
var mutant = mutation(mutants.Chosen("kv", mutationNames[:]))
