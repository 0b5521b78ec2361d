package api

import "github.com/catfish-index/catfish/internal/limits"

// stepper lets a few long calls work at a time, in the order in which they
// asked, round robin among sources. A call returns its scheduling slot after
// each step. So a short call never waits behind a long one, and calls without a
// slot have the other processors. A Backend that implements it shares its slots
// with the calls, as *catfish.Server does.
type stepper = limits.Stepper

// stepperOf leaves at least half of the processors, if there are two.
func stepperOf(b Backend) stepper {
	if s, ok := b.(stepper); ok {
		return s
	}
	return limits.NewLongSlots()
}
