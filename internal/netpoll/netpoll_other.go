//go:build !unix

package netpoll

import (
	"runtime"
	"time"
)

// Poller only yields where pipes cannot be waited for.
type Poller struct{ Every time.Duration }

// Poll lets other goroutines run.
func (*Poller) Poll() { runtime.Gosched() }

// Close does nothing.
func (*Poller) Close() {}
