package soft

import (
	"sync/atomic"
	"time"
)

// Stats counts the work of the software NIC since Open: work that a card
// would do in hardware, separate from the workers' own.
type Stats struct {
	Frames     uint64 // received
	Bytes      uint64 // received
	Reads      uint64 // peers' Reads served
	Writes     uint64 // peers' Writes and WriteImms served
	Flushes    uint64 // system calls that sent something
	Goroutines int    // running now, including those that accept
	// Busy is the time during which NIC goroutines were not blocked in socket
	// reads, including waiting for a core.
	Busy time.Duration
}

// counters accumulate Stats. NIC goroutines add to them once per socket read.
type counters struct {
	frames, bytes, reads, writes, flushes atomic.Uint64
	busy                                  atomic.Int64
}

// NIC returns the work of the device's NIC goroutines so far.
func (d *device) NIC() Stats {
	d.mu.Lock()
	running := d.running
	d.mu.Unlock()
	n := &d.nic
	return Stats{
		Frames:     n.frames.Load(),
		Bytes:      n.bytes.Load(),
		Reads:      n.reads.Load(),
		Writes:     n.writes.Load(),
		Flushes:    n.flushes.Load(),
		Goroutines: running,
		Busy:       time.Duration(n.busy.Load()),
	}
}
