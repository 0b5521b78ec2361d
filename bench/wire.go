package bench

import (
	"time"

	"github.com/catfish-index/catfish/rstar"
)

// ServerJob is the first line that a server child reads.
type ServerJob struct {
	Dataset   string `json:"dataset"`
	Objects   int    `json:"objects"`
	Seed      uint64 `json:"seed"`
	Transport string `json:"transport"`
	Fabric    Fabric `json:"fabric"` // of ofi
	Polling   bool   `json:"polling"`
	NodeBytes int    `json:"node_bytes"`
	SlabBytes int64  `json:"slab_bytes"`
}

// ServerReady is what a server child answers once it serves.
type ServerReady struct {
	Addr       string     `json:"addr"`
	Objects    int        `json:"objects"`
	Bounds     rstar.Rect `json:"bounds"` // of the data
	NodeBytes  int        `json:"node_bytes"`
	Transports []string   `json:"transports"`
}

// Usage is what a server child answers to each request for it.
type Usage struct {
	CPU   time.Duration `json:"cpu_ns"`  // of the whole process
	Wall  time.Duration `json:"wall_ns"` // since the child started
	Cores int           `json:"cores"`   // that it may use
}

// Step changes the load: from After on, each goroutine of the process
// rests for Pause between two calls.
type Step struct {
	After time.Duration `json:"after_ns"`
	Pause time.Duration `json:"pause_ns"`
}

// ClientJob is the first line that a client child reads.
type ClientJob struct {
	Addr      string     `json:"addr"`
	Transport string     `json:"transport"`
	Fabric    Fabric     `json:"fabric"` // of ofi
	Policy    string     `json:"policy"`
	Dataset   string     `json:"dataset"` // for the kind of inserts
	Bounds    rstar.Rect `json:"bounds"`  // where queries and inserts go
	Scale     string     `json:"scale"`
	Mix       Mix        `json:"mix"`
	Seed      uint64     `json:"seed"`
	Proc      int        `json:"proc"` // number of this process
	Clients   int        `json:"clients"`
	InFlight  int        `json:"in_flight"` // per client

	Warmup   time.Duration `json:"warmup_ns"`
	Interval time.Duration `json:"interval_ns"` // of one sample
	Samples  int           `json:"samples"`
	Steps    []Step        `json:"steps,omitempty"` // none: no rest
	Verify   bool          `json:"verify"`
}

// ClientReady is what a client child answers once it could start.
type ClientReady struct {
	Info Info `json:"info"`
	// Checksum covers what the verified queries returned, ids and
	// rectangles, independent of the order of results.
	Checksum uint64 `json:"checksum"`
	Results  uint64 `json:"results"` // of the verified queries
	Queries  int    `json:"queries"` // verified
}

// Sample is what one client process saw in one interval.
type Sample struct {
	Elapsed  time.Duration
	Latency  [numOps]*Latency
	Results  uint64 // of the searches
	Counters Counters
	Gauges   []Gauges      // one per client
	Pause    time.Duration // between two calls, at the end
	Offloads int           // clients that offloaded a search
}

// Ops returns the number of calls of all kinds.
func (s *Sample) Ops() int64 {
	var n int64
	for _, l := range s.Latency {
		n += l.Count()
	}
	return n
}

type sampleJSON struct {
	Elapsed  time.Duration       `json:"elapsed_ns"`
	Latency  [numOps]latencyJSON `json:"latency"`
	Results  uint64              `json:"results"`
	Counters Counters            `json:"counters"`
	Gauges   []Gauges            `json:"gauges"`
	Pause    time.Duration       `json:"pause_ns"`
	Offloads int                 `json:"offloads"`
}

func (s *Sample) wire() (*sampleJSON, error) {
	w := &sampleJSON{
		Elapsed: s.Elapsed, Results: s.Results, Counters: s.Counters,
		Gauges: s.Gauges, Pause: s.Pause, Offloads: s.Offloads,
	}
	for op, l := range s.Latency {
		var err error
		if w.Latency[op], err = l.wire(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *sampleJSON) sample() (*Sample, error) {
	s := &Sample{
		Elapsed: w.Elapsed, Results: w.Results, Counters: w.Counters,
		Gauges: w.Gauges, Pause: w.Pause, Offloads: w.Offloads,
	}
	for op, l := range w.Latency {
		var err error
		if s.Latency[op], err = l.latency(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// toChild is a line to a child after its job: exactly one field is set.
type toChild struct {
	Go    bool `json:"go,omitempty"`    // client: start
	Usage bool `json:"usage,omitempty"` // server: tell the usage
}

// fromChild is a line from a child: exactly one field is set. Error
// ends the child.
type fromChild struct {
	Server *ServerReady `json:"server,omitempty"`
	Client *ClientReady `json:"client,omitempty"`
	Usage  *Usage       `json:"usage,omitempty"`
	Sample *sampleJSON  `json:"sample,omitempty"`
	Note   string       `json:"note,omitempty"` // progress, for people
	Error  string       `json:"error,omitempty"`
}
