package heartbeat

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"

	"github.com/catfish-index/catfish/internal/cgroup"
)

// Host is the System of this process: the cores in its affinity mask and the
// quota of its cgroup, both as of the call.
type Host struct{}

// Capacity implements System.
func (Host) Capacity() (cores int, quota float64, err error) {
	allowed, err := allowedCores()
	if err != nil {
		return 0, 0, err
	}
	if runtime.GOOS == "linux" {
		quota = cgroup.Cores(os.DirFS("/"))
	}
	return len(allowed), quota, nil
}

// Cores implements System.
func (Host) Cores(ctx context.Context) (time.Duration, error) {
	times, err := cpu.TimesWithContext(ctx, true)
	if err != nil {
		return 0, err
	}
	allowed, err := allowedCores()
	if err != nil {
		return 0, err
	}
	return busyTime(times, allowed)
}

// busyTime returns the sum of the times that the allowed cores were not idle.
// Guest time is part of user time already. Steal time counts as busy, since
// this process could not use it.
func busyTime(times []cpu.TimesStat, allowed map[int]bool) (time.Duration, error) {
	busy, found := 0.0, 0
	for _, t := range times {
		n, err := strconv.Atoi(strings.TrimPrefix(t.CPU, "cpu"))
		if err != nil || !allowed[n] {
			continue
		}
		found++
		busy += t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	}
	if found == 0 {
		return 0, fmt.Errorf("none of %d cores listed is allowed to this process", len(times))
	}
	return time.Duration(busy * float64(time.Second)), nil
}
