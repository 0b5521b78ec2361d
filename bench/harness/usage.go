package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a process has used.
type Usage struct {
	CPU   time.Duration `json:"cpu_ns"`  // of all threads
	Wall  time.Duration `json:"wall_ns"` // since the process started
	Cores int           `json:"cores"`   // that it may use
	// Resident bytes of memory, those that it shares included; 0 on systems without /proc.
	Resident int64 `json:"resident_bytes"`

	// Bytes through the network interfaces of the process's network namespace,
	// without loopback.
	NetIn  uint64 `json:"net_in_bytes"`
	NetOut uint64 `json:"net_out_bytes"`
}

// UsageSince reads the processor time of the whole process, which began at
// start, for all threads, user and system, its memory, and the bytes of its network
// interfaces.
func UsageSince(start time.Time) (Usage, error) {
	in, out, err := netBytes()
	if err != nil {
		return Usage{}, err
	}
	resident, err := Resident("self")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Usage{}, err
	}
	return Usage{
		CPU:   CPUTime(),
		Wall:  time.Since(start),
		Cores: min(runtime.GOMAXPROCS(0), runtime.NumCPU()),
		NetIn: in, NetOut: out, Resident: resident,
	}, nil
}

// CPUTime is the processor time of this process (getrusage(2), which
// fails for bad arguments only).
func CPUTime() time.Duration {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// netBytes adds up the interfaces of this process's network namespace, but for
// loopback; 0 on systems without /proc.
func netBytes() (in, out uint64, err error) {
	b, err := os.ReadFile("/proc/self/net/dev")
	if os.IsNotExist(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("bench: reading network counters: %w", err)
	}
	return parseNetDev(b)
}

// parseNetDev reads /proc/net/dev (proc(5)): after two lines of headings
// a line per interface, "NAME: " and eight fields received, eight sent,
// of which the first are bytes.
func parseNetDev(b []byte) (in, out uint64, err error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 0; lines.Scan(); n++ {
		if n < 2 {
			continue
		}
		name, counts, ok := strings.Cut(lines.Text(), ":")
		f := strings.Fields(counts)
		if !ok || len(f) < 16 {
			return 0, 0, fmt.Errorf("bench: /proc/net/dev has a line %q", lines.Text())
		}
		if strings.TrimSpace(name) == "lo" {
			continue
		}
		for field, sum := range map[int]*uint64{0: &in, 8: &out} {
			v, err := strconv.ParseUint(f[field], 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("bench: /proc/net/dev: %w", err)
			}
			*sum += v
		}
	}
	return in, out, nil
}

// Span is a process's usage between two readings.
type Span struct {
	Util          float64 // share of its cores, 0 to 1
	NetIn, NetOut float64 // bytes per second, of its network interfaces
}

// Since returns what the process used since an earlier reading.
func (u Usage) Since(from Usage) (s Span) {
	if u.Cores > 0 {
		// Clock ticks may put a sliver of one interval into the next.
		s.Util = min(1, u.Busy(from)/float64(u.Cores))
	}
	if wall := (u.Wall - from.Wall).Seconds(); wall > 0 {
		s.NetIn = float64(u.NetIn-from.NetIn) / wall
		s.NetOut = float64(u.NetOut-from.NetOut) / wall
	}
	return s
}

// Busy is the number of cores that the process used since an earlier reading.
func (u Usage) Busy(from Usage) float64 {
	wall := u.Wall - from.Wall
	if wall <= 0 {
		return 0
	}
	return float64(u.CPU-from.CPU) / float64(wall)
}

// Resident is the memory of a process, or of self: the second number of proc(5)'s statm, in
// pages.
func Resident(pid string) (int64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0, fmt.Errorf("bench: memory of a process, which needs Linux: %w", err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		return 0, fmt.Errorf("bench: /proc/PID/statm is %q: %w", b, err)
	}
	return pages * int64(os.Getpagesize()), nil
}
