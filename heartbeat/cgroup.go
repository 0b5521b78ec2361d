package heartbeat

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// cgroupQuota returns the CPU quota of the process's control groups in cores,
// 0 without a quota. It is the smallest quota among all ancestors.
//
//	v2  /proc/self/cgroup  0::/a/b      cpu.max            "200000 100000"
//	v1  /proc/self/cgroup  3:cpu,..:/a  cpu.cfs_quota_us   200000 (-1: none)
//	                                    cpu.cfs_period_us  100000
//
// In a container the path may be that of the host, which is not visible. Then
// the root of the mount is the container's own group.
func cgroupQuota(root fs.FS) float64 {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	quota := 0.0
	for line := range strings.Lines(string(list)) {
		field := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(field) != 3 {
			continue
		}
		var mounts []string
		read := quotaV1
		switch {
		case field[0] == "0" && field[1] == "":
			mounts, read = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, quotaV2
		case hasController(field[1]):
			mounts = []string{"sys/fs/cgroup/" + field[1], "sys/fs/cgroup/cpu"}
		}
		for _, mount := range mounts {
			for dir := path.Clean("/" + field[2]); ; dir = path.Dir(dir) {
				if q := read(root, path.Join(mount, dir)); q > 0 && (quota == 0 || q < quota) {
					quota = q
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return quota
}

func hasController(list string) bool {
	for c := range strings.SplitSeq(list, ",") {
		if c == "cpu" {
			return true
		}
	}
	return false
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
