//go:build !unix

package server

import (
	"os"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// processCPU is the CPU time of this process, user and system.
func processCPU() time.Duration {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0
	}
	t, err := p.Times()
	if err != nil {
		return 0
	}
	return time.Duration((t.User + t.System) * float64(time.Second))
}
