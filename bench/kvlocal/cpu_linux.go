package kvlocal

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of this thread (clock_gettime(2), which fails
// for bad arguments only).
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano())
}
