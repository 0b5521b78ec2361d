// Package cgroup finds the control groups of this process, and its CPU quota.
package cgroup

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Where a limit of a process stands:
//
//	v2  /proc/self/cgroup  0::/a/b       cpu.max              "200000 100000"
//	v1  /proc/self/cgroup  3:cpu,..:/a   cpu.cfs_quota_us     200000 (-1: none)
//	                                     cpu.cfs_period_us    100000
//
// In a container the path may be that of the host, which is not visible. Then
// the root of the mount is the container's own group.

// Each calls yield with the directory, in root, of each control group of the
// process that a controller may limit, its own ones and their ancestors. root is
// os.DirFS("/"). Some of the directories may not exist.
func Each(root fs.FS, controller string, yield func(dir string, v2 bool)) {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(list)) {
		field := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(field) != 3 {
			continue
		}
		var mounts []string
		v2 := field[0] == "0" && field[1] == ""
		switch {
		case v2:
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case slices.Contains(strings.Split(field[1], ","), controller):
			mounts = []string{"sys/fs/cgroup/" + field[1], "sys/fs/cgroup/" + controller}
		}
		for _, mount := range mounts {
			for dir := path.Clean("/" + field[2]); ; dir = path.Dir(dir) {
				yield(path.Join(mount, dir), v2)
				if dir == "/" {
					break
				}
			}
		}
	}
}

// Cores returns the CPU quota in cores, 0 without a quota. It is the smallest
// quota among all ancestors.
func Cores(root fs.FS) (least float64) {
	Each(root, "cpu", func(dir string, v2 bool) {
		read := quotaV1
		if v2 {
			read = quotaV2
		}
		if q := read(root, dir); q > 0 && (least == 0 || q < least) {
			least = q
		}
	})
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
