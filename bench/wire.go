package bench

import (
	"time"

	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// ServerJob is the first line that a server child reads.
type ServerJob struct {
	Dataset   string `json:"dataset"`
	Objects   int    `json:"objects"`
	Seed      uint64 `json:"seed"`
	Listen    string `json:"listen"` // empty: any port of 127.0.0.1
	Transport string `json:"transport"`
	Fabric    Fabric `json:"fabric"` // of ofi
	NodeBytes int    `json:"node_bytes"`
	SlabBytes int64  `json:"slab_bytes"`
	Empty     bool   `json:"empty,omitempty"` // loads nothing

	Strategy rstar.Strategy `json:"strategy"`
	Inserted bool           `json:"inserted"` // one by one, not loaded at once
	// WorkerPerConnection is that of catfish.ServerOptions. MaxProcs, if not
	// 0, is the GOMAXPROCS that the child sets: more than the number of
	// workers that may poll.
	WorkerPerConnection bool `json:"worker_per_connection,omitempty"`
	MaxProcs            int  `json:"max_procs,omitempty"`
	HeartbeatInRing     bool `json:"heartbeat_in_ring,omitempty"` // that of catfish.ServerOptions
}

// ServerReady is sent by a server child as soon as it serves.
type ServerReady struct {
	Addr       string     `json:"addr"`
	Objects    int        `json:"objects"`
	Bounds     rstar.Rect `json:"bounds"` // of the data
	NodeBytes  int        `json:"node_bytes"`
	Transports []string   `json:"transports"`
}

// Step changes the load: from After on, each goroutine of the process
// rests for Pause between two calls.
type Step struct {
	After time.Duration `json:"after_ns"`
	Pause time.Duration `json:"pause_ns"`
}

// ClientJob is the first line that a client child reads.
type ClientJob struct {
	Addr      string         `json:"addr"`
	Transport string         `json:"transport"`
	Fabric    Fabric         `json:"fabric"` // of ofi
	Policy    string         `json:"policy"`
	Backoff   policy.Backoff `json:"backoff"` // of policies paper and paper-literal
	Dataset   string         `json:"dataset"` // for DataInserts
	Bounds    rstar.Rect     `json:"bounds"`  // where queries and inserts go
	Scale     string         `json:"scale"`
	Queries   string         `json:"queries,omitempty"` // file, instead of Scale
	Mix       Mix            `json:"mix"`
	Inserts   Inserts        `json:"inserts"`
	Seed      uint64         `json:"seed"`
	Proc      int            `json:"proc"` // number of this process
	Clients   int            `json:"clients"`
	InFlight  int            `json:"in_flight"` // per client
	Batch     int            `json:"batch"`     // searches per call; 0: 1

	Warmup   time.Duration `json:"warmup_ns"`
	Interval time.Duration `json:"interval_ns"` // of one sample
	Samples  int           `json:"samples"`
	Steps    []Step        `json:"steps,omitempty"` // none: no rest
	Verify   bool          `json:"verify"`

	// Each asks for samples of each client (Sample.Each).
	Each bool `json:"each,omitempty"`

	// Requests, if not 0, is how many calls each client makes in the one
	// sample, after a tenth as many that are not measured; Warmup, Samples
	// and Steps mean nothing then, and Interval, if not 0, is when it stops
	// at the latest.
	Requests int `json:"requests,omitempty"`
}

// ClientReady is sent by a client child as soon as it can start.
type ClientReady struct {
	Info Info `json:"info"`
	// Checksum covers what the verified queries returned, ids and
	// rectangles, independent of the order of results.
	Checksum uint64 `json:"checksum"`
	Results  uint64 `json:"results"` // of the verified queries
	Queries  int    `json:"queries"` // verified
}

// Sample is one client process's measurement of one interval.
type Sample struct {
	Elapsed  time.Duration                 `json:"elapsed_ns"`
	Latency  [numOps]*latency.Distribution `json:"latency"`
	Results  uint64                        `json:"results"` // of the searches
	Counters Counters                      `json:"counters"`
	Gauges   []Gauges                      `json:"gauges"`            // one per client
	Pause    time.Duration                 `json:"pause_ns"`          // between two calls, at the end
	Offloads int                           `json:"offloads"`          // clients that offloaded a search
	CPU      time.Duration                 `json:"cpu_ns"`            // processor time of the client process
	Moments  []Moment                      `json:"moments,omitempty"` // over time, of a run by count
	Each     []ClientSample                `json:"each,omitempty"`    // in the order of Gauges; ClientJob.Each
}

// ClientSample is one client's measurement of one interval.
type ClientSample struct {
	Counters Counters              `json:"counters"`
	Latency  *latency.Distribution `json:"latency"` // of its searches
}

// Ops returns the number of calls of all kinds.
func (s *Sample) Ops() int64 {
	var n int64
	for _, l := range s.Latency {
		n += l.Count()
	}
	return n
}

// command is a line to a server child after its job.
type command struct {
	Usage bool `json:"usage"` // report the usage
}

// Phase is the progress of a client of a run by count.
type Phase string

// Phases, reported as soon as all goroutines of the process complete one.
const (
	Warm Phase = "warm" // and waits for Go
	Done Phase = "done" // the sample follows
)
