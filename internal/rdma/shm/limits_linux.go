package shm

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// defaultMappings is the kernel's own vm.max_map_count.
const defaultMappings = 65530

// MaxConnections is how many connections this process has descriptors
// (RLIMIT_NOFILE) and memory mappings (vm.max_map_count) for, if three quarters
// of both are for them.
func MaxConnections() int64 {
	files, mappings := int64(math.MaxInt64), int64(defaultMappings)
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && l.Cur < math.MaxInt64 {
		files = int64(l.Cur)
	}
	if b, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			mappings = n
		}
	}
	return connectionsWithin(files, mappings)
}
