package heartbeat

import (
	"testing"
	"testing/fstest"
	"time"
)

const stat = `cpu  100 100 100 100 100 100 100 100 0 0
cpu0 1 2 4 1000 1000 8 16 32 1 0
cpu1 100 0 0 7 7 0 0 0 0 0
cpu10 1000 0 0 7 7 0 0
intr 1 2 3
`

func TestBusyTime(t *testing.T) {
	only := func(cores ...int) func(int) bool {
		return func(n int) bool {
			for _, c := range cores {
				if c == n {
					return true
				}
			}
			return false
		}
	}
	for want, allowed := range map[time.Duration]func(int) bool{
		630 * time.Millisecond:   only(0),
		1630 * time.Millisecond:  only(0, 1),
		10000 * time.Millisecond: only(10),
	} {
		if got, err := busyTime(stat, allowed); err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	for _, bad := range []string{"", "cpu0 1 2", "cpu0 x 0 0 0 0 0 0 0", stat[:40]} {
		if got, err := busyTime(bad, only(0)); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestCgroupQuota(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"none": {map[string]string{}, 0},
		"v2 unlimited": {map[string]string{
			"proc/self/cgroup":      "0::/\n",
			"sys/fs/cgroup/cpu.max": "max 100000\n",
		}, 0},
		"v2 smallest ancestor": {map[string]string{
			"proc/self/cgroup":          "0::/a/b\n",
			"sys/fs/cgroup/a/cpu.max":   "150000 100000\n",
			"sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
		}, 1.5},
		"v2 path of the host": {map[string]string{
			"proc/self/cgroup":      "0::/docker/0123\n",
			"sys/fs/cgroup/cpu.max": "50000 100000\n",
		}, 0.5},
		"v1": {map[string]string{
			"proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/j\n",
			"sys/fs/cgroup/cpu,cpuacct/j/cpu.cfs_quota_us":  "300000\n",
			"sys/fs/cgroup/cpu,cpuacct/j/cpu.cfs_period_us": "100000\n",
		}, 3},
		"v1 unlimited": {map[string]string{
			"proc/self/cgroup":                    "1:cpu:/\n0::/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, 0},
		"nonsense": {map[string]string{
			"proc/self/cgroup":      "0::/\nx\n",
			"sys/fs/cgroup/cpu.max": "1000 0\n",
		}, 0},
	} {
		root := fstest.MapFS{}
		for path, text := range tc.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := cgroupQuota(root); got != tc.want {
			t.Errorf("%s: %v cores, want %v", name, got, tc.want)
		}
	}
}
