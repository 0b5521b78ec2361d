package cgroup

import (
	"testing"
	"testing/fstest"
)

func TestCores(t *testing.T) {
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
		if got := Cores(root); got != tc.want {
			t.Errorf("%s: %v cores, want %v", name, got, tc.want)
		}
	}
}
