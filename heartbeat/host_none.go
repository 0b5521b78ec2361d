//go:build !unix

package heartbeat

import (
	"context"
	"time"
)

// Capacity implements System.
func (Host) Capacity() (cores int, quota float64, err error) { return 0, 0, ErrUnsupported }

// Cores implements System.
func (Host) Cores(context.Context) (time.Duration, error) { return 0, ErrUnsupported }

// Process implements System.
func (Host) Process() (time.Duration, error) { return 0, ErrUnsupported }
