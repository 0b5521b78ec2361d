//go:build unix

package server

import (
	"syscall"
	"time"
)

// processCPU is the CPU time of this process, user and system.
func processCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
