package heartbeat

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/shirou/gopsutil/v3/cpu"
)

func TestBusyTime(t *testing.T) {
	times := []cpu.TimesStat{
		{CPU: "cpu0", User: 1, System: 2, Nice: 4, Idle: 1000, Iowait: 1000,
			Irq: 8, Softirq: 16, Steal: 32, Guest: 1},
		{CPU: "cpu1", User: 100, Idle: 7},
		{CPU: "cpu10", User: 1000},
		{CPU: "cpu-total", User: 5000},
	}
	for want, allowed := range map[time.Duration]map[int]bool{
		63 * time.Second:   {0: true},
		163 * time.Second:  {0: true, 1: true},
		1000 * time.Second: {10: true},
	} {
		if got, err := busyTime(times, allowed); err != nil || got != want {
			t.Errorf("%v: got %v, %v; want %v", allowed, got, err, want)
		}
	}
	if got, err := busyTime(times, map[int]bool{5: true}); err == nil {
		t.Errorf("core 5, not listed: got %v", got)
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
