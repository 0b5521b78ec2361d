//go:build !unix

package netpoll

import "runtime"

// Poller only yields where pipes cannot be waited for.
type Poller struct{}

// Poll lets other goroutines run.
func (*Poller) Poll() { runtime.Gosched() }

// Close does nothing.
func (*Poller) Close() {}
