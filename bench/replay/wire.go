package replay

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
)

// Job is the first line that a replay child reads. Of bench.ClientJob it uses
// the connection and the numbers.
type Job struct {
	bench.ClientJob
	Objects     int           `json:"objects"` // of the generated data to insert
	Collection  string        `json:"collection"`
	DialTimeout time.Duration `json:"dial_timeout_ns"`
	Procs       int           `json:"procs"`
	Queries     string        `json:"queries"` // log, of which every Procs-th is this process's
	Answers     string        `json:"answers"` // file to write
	Insert      bool          `json:"insert"`  // insert Dataset first
	Force       bool          `json:"force"`   // also into a collection that has objects
	Sums        bool          `json:"sums"`    // sum up the objects found, for the oracle
	IDs         bool          `json:"ids"`     // keep the ids of the objects found
}

// replayReady is sent by a replay child that is ready to ask.
type replayReady struct {
	Info     bench.Info    `json:"info"`
	Inserted int64         `json:"inserted"`
	Took     time.Duration `json:"took_ns"` // the inserts
}

// replayed is a replay child's report when all requests are answered.
type replayed struct {
	Elapsed  time.Duration                    `json:"elapsed_ns"`
	Latency  map[string]*latency.Distribution `json:"latency"` // by kind
	Counters bench.Counters                   `json:"counters"`
	Util     float64                          `json:"util"`    // of the server's cores
	Objects  int                              `json:"objects"` // in the collection
}

// Role is that of a client that replays a list of queries.
const Role child.Role = "replay"
