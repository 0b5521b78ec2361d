//go:build !mutants

package cuckoo

// mutant is a constant, so that the compiler removes the mutants' code.
const mutant = faithful
