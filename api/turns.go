package api

import (
	"runtime"

	"github.com/catfish-index/catfish/internal/turns"
)

// stepper lets a few long calls work at a time, in the order in which they
// asked; sources take turns. A call gives its turn back after each step, so that what is short is
// never behind what is long, and leaves the other processors to calls that
// take no turns. A Backend that is one lets the calls take turns with its
// other requests that take long; *catfish.Server is.
type stepper = turns.Stepper

// stepperOf leaves at least half of the processors, if there are two.
func stepperOf(b Backend) stepper {
	if s, ok := b.(stepper); ok {
		return s
	}
	return turns.New(max(1, runtime.GOMAXPROCS(0)/2))
}
