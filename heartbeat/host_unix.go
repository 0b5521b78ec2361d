//go:build unix

package heartbeat

import (
	"time"

	"golang.org/x/sys/unix"
)

// Process implements System.
func (Host) Process() (time.Duration, error) {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0, err
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), nil
}
