package bench

import (
	"fmt"
	"runtime"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
)

// Machine describes the machine of a measurement.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"` // logical
	Memory uint64 `json:"memory_bytes"`
	Kernel string `json:"kernel"`
	OS     string `json:"os"`
	Go     string `json:"go"`
	Arch   string `json:"arch"`
}

// ThisMachine asks the system. Unknown values stay empty: some containers hide
// them, and no figure depends on them.
func ThisMachine() Machine {
	m := Machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	// NumCPU counts the cores of this process: the machine may have more.
	if n, err := cpu.Counts(true); err == nil {
		m.Cores = n
	}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		m.CPU = info[0].ModelName
	}
	if v, err := mem.VirtualMemory(); err == nil {
		m.Memory = v.Total
	}
	if k, err := host.KernelVersion(); err == nil {
		m.Kernel = k
	}
	return m
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d logical cores, %.1f GiB, %s %s (%s), %s",
		m.CPU, m.Cores, float64(m.Memory)/(1<<30), m.OS, m.Kernel, m.Arch, m.Go)
}
