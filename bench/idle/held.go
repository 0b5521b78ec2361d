package idle

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// Held are a process's resources at a moment.
type Held struct {
	Resident int64         `json:"resident_bytes"`
	Files    int           `json:"descriptors"`
	Mappings int           `json:"mappings"`
	CPU      time.Duration `json:"cpu_ns"` // since it began
	At       time.Duration `json:"at_ns"`  // of its own clock
}

// hold measures this process. collect: after a garbage collection.
func hold(began time.Time, collect bool) (h Held, err error) {
	if collect {
		debug.FreeOSMemory()
	}
	resident, err := harness.Resident("self")
	if err != nil {
		return h, err
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return h, fmt.Errorf("bench: descriptors of this process: %w", err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return h, fmt.Errorf("bench: mappings of this process: %w", err)
	}
	u, err := harness.UsageSince(began)
	if err != nil {
		return h, err
	}
	return Held{
		Resident: resident, Files: len(files), Mappings: bytes.Count(maps, []byte("\n")),
		CPU: u.CPU, At: u.Wall,
	}, nil
}

// add sums up processes.
func (h Held) add(o Held) Held {
	return Held{h.Resident + o.Resident, h.Files + o.Files, h.Mappings + o.Mappings, h.CPU + o.CPU, max(h.At, o.At)}
}

// costs returns the costs of n connections, per connection.
func (h Held) costs(before Held, n int) Cost {
	per := func(d int64) float64 { return float64(d) / float64(n) }
	return Cost{
		Memory:   per(h.Resident - before.Resident),
		Files:    per(int64(h.Files - before.Files)),
		Mappings: per(int64(h.Mappings - before.Mappings)),
	}
}

// busy is the share of a core that was used between two moments.
func busy(from, to Held) float64 {
	if to.At <= from.At {
		return 0
	}
	return float64(to.CPU-from.CPU) / float64(to.At-from.At)
}
