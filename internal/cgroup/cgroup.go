// Package cgroup reads the limits of this process's control groups.
package cgroup

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// How the limits are found:
//
//	v2  /proc/self/cgroup  0::/a/b         cpu.max              "200000 100000"
//	                                       memory.max           "1073741824"
//	v1  /proc/self/cgroup  3:cpu,..:/a     cpu.cfs_quota_us     200000 (-1: none)
//	                                       cpu.cfs_period_us    100000
//	                       4:memory:/a     memory.limit_in_bytes
//
// In a container the path may be that of the host, which is not visible. Then
// the root of the mount is the container's own group.

// Cores returns the CPU quota in cores, 0 without a quota. It is the smallest
// quota among all ancestors. root is os.DirFS("/").
func Cores(root fs.FS) float64 { return smallest(root, "cpu", quotaV2, quotaV1) }

// Memory returns the limit of memory in bytes, 0 without a limit: the smallest
// one among all ancestors.
func Memory(root fs.FS) int64 {
	limit := func(file string) func(fs.FS, string) int64 {
		return func(root fs.FS, dir string) int64 {
			b, _ := fs.ReadFile(root, path.Join(dir, file))
			n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
			if err != nil || n >= unlimited { // "max", or not there
				return 0
			}
			return n
		}
	}
	return smallest(root, "memory", limit("memory.max"), limit("memory.limit_in_bytes"))
}

// unlimited is less than what v1 says where there is no limit: the largest
// int64 in whole pages.
const unlimited = 1 << 62

// smallest returns the smallest positive limit of a controller, 0 if there is
// none.
func smallest[N int64 | float64](root fs.FS, controller string, v2, v1 func(fs.FS, string) N) (least N) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(list)) {
		field := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(field) != 3 {
			continue
		}
		var mounts []string
		read := v1
		switch {
		case field[0] == "0" && field[1] == "":
			mounts, read = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, v2
		case slices.Contains(strings.Split(field[1], ","), controller):
			mounts = []string{"sys/fs/cgroup/" + field[1], "sys/fs/cgroup/" + controller}
		}
		for _, mount := range mounts {
			for dir := path.Clean("/" + field[2]); ; dir = path.Dir(dir) {
				if n := read(root, path.Join(mount, dir)); n > 0 && (least == 0 || n < least) {
					least = n
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return least
}

func quotaV2(root fs.FS, dir string) float64 {
	b, err := fs.ReadFile(root, path.Join(dir, "cpu.max"))
	if err != nil {
		return 0
	}
	field := strings.Fields(string(b)) // "max 100000": none, as is any nonsense
	if len(field) != 2 {
		return 0
	}
	return ratio(field[0], field[1])
}

func quotaV1(root fs.FS, dir string) float64 {
	q, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return 0
	}
	p, err := fs.ReadFile(root, path.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return 0
	}
	return ratio(strings.TrimSpace(string(q)), strings.TrimSpace(string(p)))
}

// ratio returns quota per period, 0 unless both are positive numbers.
func ratio(quota, period string) float64 {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q <= 0 {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}
