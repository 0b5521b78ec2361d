//go:build mutants

package cuckoo

// Mutations is how many there are.
const Mutations = len(mutationNames)

// SetMutant breaks a rule.
func SetMutant(i int) string {
	mutant = mutation(i)
	return mutationNames[i]
}
