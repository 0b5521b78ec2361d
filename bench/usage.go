package bench

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// usageSince reads the processor time of the whole process, all threads,
// user and system (getrusage(2)).
func usageSince(start time.Time) (Usage, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return Usage{}, fmt.Errorf("bench: reading processor time: %w", err)
	}
	return Usage{
		CPU:   time.Duration(ru.Utime.Nano() + ru.Stime.Nano()),
		Wall:  time.Since(start),
		Cores: runtime.GOMAXPROCS(0),
	}, nil
}

// utilisation is the share of its cores that the process used between
// two readings, 0 to 1.
func utilisation(from, to Usage) float64 {
	wall := to.Wall - from.Wall
	if wall <= 0 || to.Cores <= 0 {
		return 0
	}
	// Clock ticks may put a sliver of one interval into the next.
	return min(1, float64(to.CPU-from.CPU)/float64(wall)/float64(to.Cores))
}
