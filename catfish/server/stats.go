package server

import (
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
)

// Stats returns the server's state. It waits for no request, and no request
// waits for it; but each collection's writers and it exclude each other briefly.
func (s *Server) Stats() model.ServerStats {
	st := model.ServerStats{
		Addr: s.Addr(), Version: model.Version, BootID: s.bootID,
		Uptime: time.Since(s.started).Seconds(), Polling: s.opts.Polling,
		CPUSeconds: processCPU().Seconds(), Cores: s.cores(), Heartbeat: s.opts.HeartbeatInterval.Seconds(),
		TCPRequests: s.tcpRequests.Load(), Collections: make(map[string]rstar.Stats),
	}
	for _, f := range s.fabrics {
		t := model.TransportStats{Transport: f.name, Detail: f.dev.Info().Detail}
		f.mu.Lock()
		t.ReadChannels = len(f.readChannels)
		f.mu.Unlock()
		live, ended, count := f.workers.stats()
		t.Workers = make([]model.WorkerStats, 0, len(live)) // [] in JSON, not null
		for _, w := range live {
			ws := workerStats(w)
			t.Connections += ws.Connected
			t.Workers = append(t.Workers, ws)
		}
		t.EndedWorkers, t.Ended = count, workerStats(ended)
		st.Transports = append(st.Transports, t)
	}
	st.Memory, st.Budgets = s.memory.stats(s.opts.MemoryLimit), s.budgetStats()
	st.Recording, st.Loading = s.Recording(), s.colls.loading()
	if kept, err := s.features.ready(); err == nil {
		counts := kept.Stats()
		st.Store = &counts
	}
	for _, c := range s.colls.named() {
		if c.features != nil {
			if st.Features == nil {
				st.Features = map[string]model.FeaturesStats{}
			}
			st.Features[c.name] = c.featuresStats()
			continue
		}
		if c.records != nil {
			if st.Records == nil {
				st.Records = map[string]model.RecordsStats{}
			}
			st.Records[c.name] = c.recordsStats()
			continue
		}
		st.Collections[c.name] = c.tree.Stats()
		if c.boxes != nil {
			st.Kept = append(st.Kept, c.name)
		}
	}
	slices.Sort(st.Kept)
	return st
}

func workerStats(w fastmsg.WorkerStats) model.WorkerStats {
	return model.WorkerStats{
		Requests: w.Requests, BytesIn: w.BytesIn, BytesOut: w.BytesOut,
		Busy: w.Busy.Seconds(), Spun: w.Spun.Seconds(), Sleeps: w.Sleeps,
		Batches: w.Batches, Posted: w.Posted, Fetchable: w.Fetchable, Waiting: w.Waiting, Connected: w.Connections,
	}
}
