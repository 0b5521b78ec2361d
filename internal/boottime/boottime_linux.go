// Package boottime is a clock that continues while the machine is suspended, which Go's
// monotonic clock does not. Leases of groups of servers are compared with it.
package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine has started: CLOCK_BOOTTIME, the same for all
// processes of a machine. It does not allocate, and takes a system call, 0.1 us.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // Linux has it since 2.6.39.
	}
	return time.Duration(ts.Nano())
}
