package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// UsageSince reads the processor time of the whole process, which began at
// start, for all threads, user and system, and the bytes of its network
// interfaces.
func UsageSince(start time.Time) (Usage, error) {
	in, out, err := netBytes()
	if err != nil {
		return Usage{}, err
	}
	return Usage{
		CPU:   cpuTime(),
		Wall:  time.Since(start),
		Cores: min(runtime.GOMAXPROCS(0), runtime.NumCPU()),
		NetIn: in, NetOut: out,
	}, nil
}

// cpuTime is the processor time of this process (getrusage(2), which
// fails for bad arguments only).
func cpuTime() time.Duration {
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

// Since returns what the process used since an earlier reading: the share
// of its cores, 0 to 1, and the bytes per second that its network interfaces
// received and sent.
func (u Usage) Since(from Usage) (util, netIn, netOut float64) {
	s := spanOf(from, u)
	return s.util, s.netIn, s.netOut
}

// span is a server's usage between two readings.
type span struct {
	util          float64 // share of its cores, 0 to 1
	netIn, netOut float64 // bytes per second
}

func spanOf(from, to Usage) span {
	s := span{util: utilisation(from, to)}
	if wall := (to.Wall - from.Wall).Seconds(); wall > 0 {
		s.netIn = float64(to.NetIn-from.NetIn) / wall
		s.netOut = float64(to.NetOut-from.NetOut) / wall
	}
	return s
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
