package catfish

import (
	"slices"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store/storestats"
)

// ServerStats is the state of a server. Counts are since its start.
type ServerStats struct {
	Addr        string                 `json:"addr"`
	Version     string                 `json:"version"`
	BootID      uint64                 `json:"boot_id,string"`
	Uptime      float64                `json:"uptime_seconds"`
	Transports  []TransportStats       `json:"transports"`
	Polling     bool                   `json:"polling"`
	CPUSeconds  float64                `json:"cpu_seconds"` // of the process, user and system
	Cores       float64                `json:"cores"`       // that it may use
	Heartbeat   float64                `json:"heartbeat_seconds"`
	TCPRequests uint64                 `json:"tcp_requests"`
	Collections map[string]rstar.Stats `json:"collections"` // of boxes
	// Records are the collections of records.
	Records map[string]RecordsStats `json:"records,omitempty"`
	// Features are the collections of features.
	Features map[string]FeaturesStats `json:"features,omitempty"`
	// Store is the state of the store of features, nil while it is being loaded.
	Store *storestats.Store `json:"store,omitempty"`
	// Memory is the memory of the process, and Budgets the clients' parts of it.
	Memory  MemoryStats   `json:"memory"`
	Budgets []BudgetStats `json:"budgets"`
	// Kept are the collections of boxes that are kept, sorted.
	Kept []string `json:"kept,omitempty"`
	// Loading are the collections that clients cannot use yet.
	Loading []string `json:"loading,omitempty"`
	// Recording is nil if nothing is recorded.
	Recording *RecordStats `json:"recording,omitempty"`
}

// TransportStats is the state of one transport.
type TransportStats struct {
	Transport    string        `json:"transport"`
	Detail       string        `json:"detail"`
	Connections  int           `json:"connections"`
	ReadChannels int           `json:"read_channels"` // open for offloading
	Workers      []WorkerStats `json:"workers"`
	// EndedWorkers is the number of workers that ended, and Ended the sum of
	// their counters (ServerOptions.WorkerPerConnection).
	EndedWorkers int         `json:"ended_workers"`
	Ended        WorkerStats `json:"ended"`
}

// WorkerStats is the state of one worker.
type WorkerStats struct {
	Requests  uint64  `json:"requests"`
	BytesIn   uint64  `json:"bytes_in"`
	BytesOut  uint64  `json:"bytes_out"`
	Busy      float64 `json:"busy_seconds"`
	Spun      float64 `json:"spun_seconds"`
	Sleeps    uint64  `json:"sleeps"`
	Batches   uint64  `json:"batches"`
	Waiting   int     `json:"waiting"`
	Connected int     `json:"connections"`
	// Posted counts work requests for answers and for the room of requests, Fetchable
	// how often answers were left for a client to fetch.
	Posted    uint64 `json:"posted"`
	Fetchable uint64 `json:"fetchable"`
}

// Stats returns the server's state. It waits for no request, and no request
// waits for it; but each collection's writers and it exclude each other briefly.
func (s *Server) Stats() ServerStats {
	st := ServerStats{
		Addr: s.Addr(), Version: Version, BootID: s.bootID,
		Uptime: time.Since(s.started).Seconds(), Polling: s.opts.Polling,
		CPUSeconds: processCPU().Seconds(), Cores: s.cores(), Heartbeat: s.opts.HeartbeatInterval.Seconds(),
		TCPRequests: s.tcpRequests.Load(), Collections: make(map[string]rstar.Stats),
	}
	for _, f := range s.fabrics {
		t := TransportStats{Transport: f.name, Detail: f.dev.Info().Detail}
		f.mu.Lock()
		t.ReadChannels = len(f.readChannels)
		f.mu.Unlock()
		live, ended, count := f.workers.stats()
		t.Workers = make([]WorkerStats, 0, len(live)) // [] in JSON, not null
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
				st.Features = map[string]FeaturesStats{}
			}
			st.Features[c.name] = c.featuresStats()
			continue
		}
		if c.records != nil {
			if st.Records == nil {
				st.Records = map[string]RecordsStats{}
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

func workerStats(w fastmsg.WorkerStats) WorkerStats {
	return WorkerStats{
		Requests: w.Requests, BytesIn: w.BytesIn, BytesOut: w.BytesOut,
		Busy: w.Busy.Seconds(), Spun: w.Spun.Seconds(), Sleeps: w.Sleeps,
		Batches: w.Batches, Posted: w.Posted, Fetchable: w.Fetchable, Waiting: w.Waiting, Connected: w.Connections,
	}
}
