//go:build race

package rstar

// raceFactor shrinks tests of one goroutine under the race detector, which
// makes them ten times slower and cannot find anything in them.
const raceFactor = 8
