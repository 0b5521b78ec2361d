//go:build !linux

package kvlocal

import "time"

// began is when this process did.
var began = time.Now()

// threadTime is the time by the clock: the processor time of a thread is not to
// be had here.
func threadTime() time.Duration { return time.Since(began) }
