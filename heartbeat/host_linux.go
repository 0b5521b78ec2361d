package heartbeat

import (
	"time"

	"golang.org/x/sys/unix"
)

// allowedCores reads the affinity mask of the main thread. That of the calling
// thread may be narrower: its goroutine may have pinned it.
func allowedCores() (map[int]bool, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(unix.Getpid(), &set); err != nil {
		return nil, err
	}
	allowed := make(map[int]bool)
	for n := 0; len(allowed) < set.Count(); n++ {
		if set.IsSet(n) {
			allowed[n] = true
		}
	}
	return allowed, nil
}

// Process implements System by getrusage(2).
func (Host) Process() (time.Duration, error) {
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &use); err != nil {
		return 0, err
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), nil
}
