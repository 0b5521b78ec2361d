package replay

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/child"
)

// Job is the first line that a replay child reads. Of its
// bench.ClientJob it has the connection and the numbers.
type Job struct {
	bench.ClientJob
	Objects     int           `json:"objects"` // of a generator that is inserted
	Collection  string        `json:"collection"`
	DialTimeout time.Duration `json:"dial_timeout_ns"`
	Procs       int           `json:"procs"`
	Queries     string        `json:"queries"` // log, of which every Procs-th is this process's
	Answers     string        `json:"answers"` // file to write
	Insert      bool          `json:"insert"`  // insert Dataset first
	Force       bool          `json:"force"`   // also into a collection that has objects
	Sums        bool          `json:"sums"`    // sum up what was found, for the oracle
	IDs         bool          `json:"ids"`     // keep the ids of what was found
}

// replayed is what a replay child says, first when it is ready to ask,
// then when it has asked.
type replayed struct {
	// Ready.
	Info     bench.Info    `json:"info"`
	Inserted int64         `json:"inserted"`
	Took     time.Duration `json:"took_ns"` // the inserts
	Queries  int           `json:"queries"` // of this process

	// Done.
	Done     bool                      `json:"done"`
	Elapsed  time.Duration             `json:"elapsed_ns"`
	Latency  map[string]*bench.Latency `json:"latency"` // by kind
	Counters bench.Counters            `json:"counters"`
	Util     float64                   `json:"util"`    // of the server's cores
	Objects  int                       `json:"objects"` // in the collection
}

// toChild is a line to a replay child after its job.
type toChild struct {
	Go bool `json:"go"`
}

// fromChild is a line from a replay child.
type fromChild struct {
	Replay *replayed `json:"replay"`
}

// Role is of a client that works off a list of queries.
const Role child.Role = "replay"
