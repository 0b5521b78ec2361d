//go:build !race

package rstar

// raceFactor: tests run at full size.
const raceFactor = 1
