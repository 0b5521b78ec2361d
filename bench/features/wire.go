package features

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
)

// The roles of children.
const (
	ServerRole child.Role = "features-server"
	ClientRole child.Role = "features-client"
	LocalRole  child.Role = "features-local"
)

// DataJob says from what features are made.
type DataJob struct {
	Source   string `json:"source"`
	Features int    `json:"features"`
	Borders  bool   `json:"borders"`
	Seed     uint64 `json:"seed"`
}

// ServerJob is the first line that a server child reads.
type ServerJob struct {
	DataJob
	Tile38 string `json:"tile38,omitempty"` // program; empty: Catfish
	Dir    string `json:"dir,omitempty"`    // data directory; empty: in memory
	Sync   bool   `json:"sync,omitempty"`   // with Dir: each write is durable
	Load   bool   `json:"load,omitempty"`   // the features
	// Queries are files to be written, by work.
	Queries map[string]string `json:"queries,omitempty"`
}

// ServerReady is sent by a server child as soon as it serves.
type ServerReady struct {
	Addr     string        `json:"addr"`
	GRPC     string        `json:"grpc"`
	Echo     string        `json:"echo"`
	Version  string        `json:"version"`
	Features int           `json:"features"` // in the collection
	Took     time.Duration `json:"took_ns"`  // loading
	Memory   MemoryState   `json:"memory"`
}

// MemoryState is the memory of features.
type MemoryState struct {
	Before   int64 `json:"before"`   // resident, without features
	Resident int64 `json:"resident"` // with them
	Own      int64 `json:"own"`      // of ids and encoded features

	Records int64 `json:"records"` // places in use, each of a size class
	Free    int64 `json:"free"`    // of spans, not in use
	Keys    int64 `json:"keys"`    // key index
	Tree    int64 `json:"tree"`
	Heap    int64 `json:"heap"` // Go's, in use, without that before
}

// command is a line to a server child after its job: at most one field is set. Without
// any it reports its usage.
type command struct {
	Weigh bool     `json:"weigh,omitempty"`
	Load  *LoadJob `json:"load,omitempty"` // in the server's process
	Die   bool     `json:"die,omitempty"`  // as by kill -9
}

// LoadJob is the job of a closed loop.
type LoadJob struct {
	DataJob
	Work string `json:"work"`
	Way  string `json:"way"`
	Addr string `json:"addr"`
	// Queries is a file, of searches.
	Queries  string        `json:"queries,omitempty"`
	Clients  int           `json:"clients"`
	InFlight int           `json:"in_flight"` // per client
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
	Dir      string        `json:"dir,omitempty"` // of way Disk
}

// LocalJob is the job of a child that works alone.
type LocalJob struct {
	Work      string        `json:"work"`
	Way       string        `json:"way"`
	Countries string        `json:"countries"`
	Areas     int           `json:"areas"`
	Objects   int           `json:"objects"`
	Seed      uint64        `json:"seed"`
	Duration  time.Duration `json:"duration_ns"`
}

// Sample is the measurement of one child.
type Sample struct {
	Elapsed  time.Duration         `json:"elapsed_ns"`
	Ops      int64                 `json:"ops"`
	Features int64                 `json:"features"` // in answers, or written
	Latency  *latency.Distribution `json:"latency"`
	CPU      time.Duration         `json:"cpu_ns"` // of the child
	Counters bench.Counters        `json:"counters"`
	// Wrong answers, and the error of the first.
	Wrong int64  `json:"wrong"`
	First string `json:"first,omitempty"`
	// Found and Wanted are features, of all answers: other servers may differ
	// on features that touch a box.
	Found  int64 `json:"found"`
	Wanted int64 `json:"wanted"`
	// More figures of a work, by name.
	More map[string]float64 `json:"more,omitempty"`
}
