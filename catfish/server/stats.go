package server

import (
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
	st.Recording, st.Loading, st.Map = s.Recording(), s.loading(), s.storeMap()
	if s.store.Ready() == nil {
		counts := s.store.Stats()
		st.Store = &counts
	}
	for _, c := range s.store.All() {
		switch {
		case c.Features != nil:
			if st.Features == nil {
				st.Features = map[string]model.FeaturesStats{}
			}
			st.Features[c.Name] = featuresStats(c)
		case c.Records != nil:
			if st.Records == nil {
				st.Records = map[string]model.RecordsStats{}
			}
			st.Records[c.Name] = recordsStats(c)
			if c.Kept != nil {
				st.Kept = append(st.Kept, c.Name)
			}
		default:
			st.Collections[c.Name] = c.Tree.Stats()
			if c.Boxes != nil {
				st.Kept = append(st.Kept, c.Name)
			}
		}
	}
	return st
}

func workerStats(w fastmsg.WorkerStats) model.WorkerStats {
	return model.WorkerStats{
		Requests: w.Requests, BytesIn: w.BytesIn, BytesOut: w.BytesOut,
		Busy: w.Busy.Seconds(), Spun: w.Spun.Seconds(), Sleeps: w.Sleeps,
		Batches: w.Batches, Posted: w.Posted, Fetchable: w.Fetchable, Waiting: w.Waiting, Connected: w.Connections,
	}
}
