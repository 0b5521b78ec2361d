//go:build !race

package rstar

// raceFactor: full size.
const raceFactor = 1
