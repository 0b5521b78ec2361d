package heartbeat

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// userHZ is the unit of /proc/stat: USER_HZ is part of the kernel's ABI
// and 100 on every architecture that Go runs on (proc(5), getauxval(3)
// AT_CLKTCK).
const userHZ = 100

// Capacity implements System.
func (Host) Capacity() (cores int, quota float64, err error) {
	set, err := allowedCores()
	if err != nil {
		return 0, 0, err
	}
	return set.Count(), cgroupQuota(os.DirFS("/")), nil
}

// allowedCores reads the affinity mask of the main thread: the calling
// one may have been pinned by its owner.
func allowedCores() (set unix.CPUSet, err error) {
	err = unix.SchedGetaffinity(unix.Getpid(), &set)
	return set, err
}

// Cores implements System.
func (Host) Cores(context.Context) (time.Duration, error) {
	set, err := allowedCores()
	if err != nil {
		return 0, err
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	return busyTime(string(stat), set.IsSet)
}

// busyTime sums what the allowed cores did besides waiting:
//
//	cpuN  user nice system idle iowait irq softirq steal guest guest_nice
//
// Guest time is part of user and nice. Stolen time is not ours to use
// either, so it counts as busy.
func busyTime(stat string, allowed func(core int) bool) (time.Duration, error) {
	ticks, found := uint64(0), 0
	for line := range strings.Lines(stat) {
		field := strings.Fields(line)
		if len(field) == 0 {
			continue
		}
		name, isCore := strings.CutPrefix(field[0], "cpu")
		core, err := strconv.Atoi(name)
		if !isCore || err != nil || !allowed(core) {
			continue
		}
		if len(field) < 8 {
			return 0, fmt.Errorf("/proc/stat: %q has %d fields, want at least 8",
				field[0], len(field))
		}
		found++
		for at, f := range field[1:min(len(field), 9)] {
			if at == 3 || at == 4 { // idle, iowait
				continue
			}
			n, err := strconv.ParseUint(f, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/stat: %s: %w", field[0], err)
			}
			ticks += n
		}
	}
	if found == 0 {
		return 0, fmt.Errorf("/proc/stat: lists no core that is allowed to this process")
	}
	return time.Duration(ticks) * (time.Second / userHZ), nil
}
