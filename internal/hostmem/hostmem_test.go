package hostmem

import (
	"maps"
	"runtime"
	"testing"
	"testing/fstest"
)

func TestMemory(t *testing.T) {
	host := map[string]string{
		"proc/meminfo": "MemTotal:       8000 kB\nMemFree: 10 kB\nMemAvailable:   5000 kB\n",
	}
	for _, c := range []struct {
		name             string
		files            map[string]string
		limit, available int64
		known            bool
	}{
		{"nothing to read", nil, 0, 0, false},
		{"no control group", host, 8000 << 10, 5000 << 10, true},
		{"without a limit", map[string]string{
			"proc/self/cgroup":           "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n",
		}, 8000 << 10, 5000 << 10, true},
		{"an ancestor's", map[string]string{
			"proc/self/cgroup":               "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":   "3000000\n",
			"sys/fs/cgroup/a/memory.max":     "2000000\n",
			"sys/fs/cgroup/a/memory.current": "900000\n",
			"sys/fs/cgroup/a/memory.stat":    "anon 5\ninactive_file 400000\n",
		}, 2000000, 1500000, true},
		{"of a container, beyond it", map[string]string{
			"proc/self/cgroup":             "0::/host/path\n",
			"sys/fs/cgroup/memory.max":     "1000000\n",
			"sys/fs/cgroup/memory.current": "1200000\n",
		}, 1000000, 0, true},
		{"version 1", map[string]string{
			"proc/self/cgroup":                             "5:cpu,cpuacct:/x\n4:memory:/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000000\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "300000\n",
			"sys/fs/cgroup/memory/x/memory.stat":           "inactive_file 7\ntotal_inactive_file 100000\n",
		}, 1000000, 800000, true},
		{"nonsense", map[string]string{
			"proc/self/cgroup":           "0::\nx\n0::/a\n",
			"sys/fs/cgroup/a/memory.max": "-1\n",
		}, 8000 << 10, 5000 << 10, true},
	} {
		root := fstest.MapFS{}
		if c.files != nil {
			files := maps.Clone(host)
			maps.Copy(files, c.files)
			for name, text := range files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		if got, known := limit(root); got != c.limit || known != c.known {
			t.Errorf("%s: limit %d, %v, want %d, %v", c.name, got, known, c.limit, c.known)
		}
		if got, known := available(root); got != c.available || known != c.known {
			t.Errorf("%s: available %d, %v, want %d, %v", c.name, got, known, c.available, c.known)
		}
	}
}

func TestThisHost(t *testing.T) {
	most, known := Limit()
	left, _ := Available()
	if runtime.GOOS == "linux" && (!known || left <= 0 || left > most) {
		t.Errorf("limit %d (known %v), available %d", most, known, left)
	}
}
