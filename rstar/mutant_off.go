//go:build !mutants

package rstar

// mutant is a constant, so that the compiler removes the mutants' code.
const mutant = faithful

func leavesStamp(node, node, bool) bool { return false }
