package catfish

import (
	"runtime"

	"github.com/catfish-index/catfish/heartbeat"
)

// LoadStats is a server's load at one moment.
type LoadStats struct {
	// CPU and Busy are the values that heartbeats carry, 0 to 1: the utilisation of the
	// cores that the server may use, by all processes, and the share of their time that
	// its workers serve requests. They are of the last heartbeat's interval, or,
	// without heartbeats, of the time since Load was called last.
	CPU, Busy float64
	Waiting   uint32 // requests that have arrived and are not served yet
}

// Load returns the server's load.
func (s *Server) Load() LoadStats { return loadStats(s.monitor.Load()) }

func loadStats(l heartbeat.Load) LoadStats {
	return LoadStats{CPU: l.CPU, Busy: l.Busy, Waiting: l.Waiting}
}

// Workers is the number of workers of each transport; 0: each connection has its own.
func (s *Server) Workers() int {
	switch {
	case s.opts.WorkerPerConnection:
		return 0
	case s.opts.Workers > 0:
		return s.opts.Workers
	}
	return runtime.GOMAXPROCS(0)
}
