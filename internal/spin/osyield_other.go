//go:build !linux

package spin

// osYield does nothing here: a spinner holds its core for the budget.
func osYield() {}
