//go:build !mutants

package record

// mutant is a constant, so that the compiler removes the mutants' code.
const mutant = faithful
