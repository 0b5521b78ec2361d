package server

import (
	"runtime"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/heartbeat"
)

// Load returns the server's load.
func (s *Server) Load() model.LoadStats { return loadStats(s.monitor.Load()) }

func loadStats(l heartbeat.Load) model.LoadStats {
	return model.LoadStats{CPU: l.CPU, Busy: l.Busy, Waiting: l.Waiting}
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
