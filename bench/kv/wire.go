package kv

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// The roles of children.
const (
	ServerRole child.Role = "kv-server"
	ClientRole child.Role = "kv-client"
)

// kinds is the number of kinds of operations, ycsb.Kind.
const kinds = ycsb.ReadModifyWrite + 1

// ServerJob is the first line that a server child reads.
type ServerJob struct {
	Scheme    string       `json:"scheme"`
	Transport string       `json:"transport"`
	Fabric    bench.Fabric `json:"fabric"` // of ofi
	// The data: number of loaded keys, bytes of a value. Mixes that insert
	// store more.
	Keys       uint64 `json:"keys"`
	ValueBytes int    `json:"value_bytes"`
	Shards     int    `json:"shards,omitempty"` // of the collection, 0: it is not divided
	// The collection's key index.
	Table cuckoo.Kind `json:"table"`
	Items int         `json:"items"`
	// MaxBytes makes it a cache.
	MaxBytes int64 `json:"max_bytes,omitempty"`
	// Sync keeps the records, in a directory below Dir: see Config.
	Sync string `json:"sync,omitempty"`
	Dir  string `json:"dir,omitempty"`
}

// ServerReady is sent by a server child as soon as it serves.
type ServerReady struct {
	Addr    string `json:"addr"`
	Version string `json:"version"`
}

// ClientJob is the first line that a client child reads.
type ClientJob struct {
	Addr      string       `json:"addr"`
	Scheme    string       `json:"scheme"`
	Transport string       `json:"transport"`
	Fabric    bench.Fabric `json:"fabric"` // of ofi

	Workload ycsb.Config `json:"workload"`
	// This process loads the keys from LoadFrom to before LoadTo, and has
	// Clients clients, of which the first one has number FirstClient of all.
	LoadFrom    uint64 `json:"load_from"`
	LoadTo      uint64 `json:"load_to"`
	FirstClient int    `json:"first_client"`
	Clients     int    `json:"clients"`
	InFlight    int    `json:"in_flight"` // per client
	// Of schemes fetch and literal: see Config.
	FetchBytes   int    `json:"fetch_bytes,omitempty"`
	FetchRetries int    `json:"fetch_retries,omitempty"`
	FetchAlways  bool   `json:"fetch_always,omitempty"`
	Shards       int    `json:"shards,omitempty"`
	Pointers     string `json:"pointers,omitempty"` // Config.Pointers, if the scheme keeps references
	// SharedPointers is empty for schemes that keep no references.
	SharedPointers string `json:"shared_pointers,omitempty"`
	Batch          int    `json:"batch"`           // keys of a GetMany; 1: by Get
	Cache          bool   `json:"cache,omitempty"` // a key may have no record

	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
}

// ClientReady is sent by a client child as soon as its keys are loaded.
type ClientReady struct {
	Info bench.Info `json:"info"`
}

// State is a server child's answer to a command.
type State struct {
	Usage harness.Usage `json:"usage"`
	Index Index         `json:"index"`
	Posts Posts         `json:"posts"`
}

// Posts count the work requests that a server's processors posted, and the requests of clients.
type Posts struct {
	Posted   uint64 `json:"posted"`
	Requests uint64 `json:"requests"`
}

// Sample is one client process's measurement.
type Sample struct {
	Elapsed  time.Duration                `json:"elapsed_ns"`
	Latency  [kinds]*latency.Distribution `json:"latency"` // by ycsb.Kind
	Counters Counters                     `json:"counters"`
	CPU      time.Duration                `json:"cpu_ns"` // processor time of the client process
	Answers  Answers                      `json:"answers"`
}

// Answers counts the values read since the operations began, the warm-up's
// included.
type Answers struct {
	Checked int64  `json:"checked"`
	Wrong   int64  `json:"wrong"`
	First   string `json:"first,omitempty"`  // the error of the first of these
	Missed  int64  `json:"missed,omitempty"` // keys that a cache had no record of
}

// Add returns the sum.
func (a Answers) Add(o Answers) Answers {
	if a.First == "" {
		a.First = o.First
	}
	return Answers{a.Checked + o.Checked, a.Wrong + o.Wrong, a.First, a.Missed + o.Missed}
}

// command is a line to a server child after its job.
type command struct {
	Ask bool `json:"ask"` // report the state
}
