//go:build race

package rstar

// raceFactor shrinks tests of one goroutine under the race detector,
// which makes them ten times slower and finds nothing in them.
const raceFactor = 8
