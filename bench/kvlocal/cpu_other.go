//go:build !linux

package kvlocal

import "time"

// began is when this process began.
var began = time.Now()

// threadTime is the time by the clock: this system does not report a thread's
// processor time.
func threadTime() time.Duration { return time.Since(began) }
