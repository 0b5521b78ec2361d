//go:build !linux

package heartbeat

import (
	"os"
	"runtime"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

func allowedCores() (map[int]bool, error) {
	allowed := make(map[int]bool)
	for n := range runtime.NumCPU() {
		allowed[n] = true
	}
	return allowed, nil
}

// Process implements System.
func (Host) Process() (time.Duration, error) {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0, err
	}
	t, err := p.Times()
	if err != nil {
		return 0, err
	}
	return time.Duration((t.User + t.System) * float64(time.Second)), nil
}
