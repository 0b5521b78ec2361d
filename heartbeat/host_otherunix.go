//go:build unix && !linux

package heartbeat

import (
	"context"
	"runtime"
	"time"
)

// Capacity implements System.
func (Host) Capacity() (cores int, quota float64, err error) {
	return runtime.NumCPU(), 0, nil
}

// Cores implements System: what others do remains unseen.
func (h Host) Cores(context.Context) (time.Duration, error) { return h.Process() }
