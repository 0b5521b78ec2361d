// Package hostmem finds how much memory this process may use: the host's,
// or less if a control group of the process is limited.
package hostmem

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/cgroup"
)

// Limit returns the size of the host's memory, or the smallest limit of
// the process's control groups. It is not known on systems without /proc.
func Limit() (bytes int64, known bool) { return limit(os.DirFS("/")) }

// Available returns the bytes that can still be used without swapping. File
// caches, which the system frees on demand, count as available.
func Available() (bytes int64, known bool) { return available(os.DirFS("/")) }

func limit(root fs.FS) (int64, bool) {
	least, known := hostValue(root, "MemTotal:")
	eachGroup(root, func(g group) {
		if g.max < least || !known {
			least, known = g.max, true
		}
	})
	return least, known
}

func available(root fs.FS) (int64, bool) {
	least, known := hostValue(root, "MemAvailable:")
	eachGroup(root, func(g group) {
		if left := max(g.max-g.used, 0); left < least || !known {
			least, known = left, true
		}
	})
	return least, known
}

// hostValue reads a line such as "MemTotal: 8052232 kB".
func hostValue(root fs.FS, key string) (int64, bool) {
	return lineValue(root, "proc/meminfo", key, 1<<10)
}

// lineValue returns the number after key at the begin of a line.
func lineValue(root fs.FS, name, key string, unit int64) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != key {
			continue
		}
		n, err := strconv.ParseInt(f[1], 10, 64)
		return n * unit, err == nil && n >= 0 && n < 1<<50
	}
	return 0, false
}

// group is a control group with a limit. used excludes caches of files
// that were not read lately.
type group struct{ max, used int64 }

// eachGroup calls yield with each limited control group of the process, its
// own and its ancestors.
//
//	v2  /proc/self/cgroup  0::/a/b         memory.max, memory.current
//	v1  /proc/self/cgroup  4:memory:/a/b   memory.limit_in_bytes, .usage_in_bytes
func eachGroup(root fs.FS, yield func(group)) {
	cgroup.Each(root, "memory", func(dir string, v2 bool) {
		limit, usage, cache := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		if v2 {
			limit, usage, cache = "memory.max", "memory.current", "inactive_file"
		}
		if most, ok := value(root, path.Join(dir, limit)); ok {
			used, _ := value(root, path.Join(dir, usage))
			cached, _ := lineValue(root, path.Join(dir, "memory.stat"), cache, 1)
			yield(group{most, max(used-cached, 0)})
		}
	})
}

// value reads a file with one number. "max", and the huge number with the
// same meaning in v1, are no limit.
func value(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0 && n < 1<<60
}
