//go:build unix

package peers

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that the process has used. The error is
// impossible: the argument is valid.
func cpuTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
