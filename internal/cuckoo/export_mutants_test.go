//go:build mutants

package cuckoo

// Mutations is their number.
const Mutations = len(mutationNames)

// SetMutant breaks a rule.
func SetMutant(i int) string {
	mutant = mutation(i)
	return mutationNames[i]
}
