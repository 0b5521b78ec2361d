package model

import (
	"github.com/catfish-index/catfish/rstar"
)

// BackupInfo describes the content of a backup.
type BackupInfo struct {
	Dir         string `json:"dir"` // on the server's machine
	Collections int    `json:"collections"`
	Features    uint64 `json:"features"`
	Boxes       uint64 `json:"boxes,omitempty"` // different ones
	Records     uint64 `json:"records,omitempty"`
	Revision    uint64 `json:"revision"` // of the last write in the backup
}

// BudgetStats is one resource of a server: how much of it all clients hold, and the
// limits.
type BudgetStats struct {
	Name    string `json:"name"` // what is counted
	Used    int64  `json:"used"`
	Limit   int64  `json:"limit"`
	Share   int64  `json:"share"`   // limit of one host or process
	Sources int    `json:"sources"` // hosts or processes that are connected
	Refused uint64 `json:"refused"` // requests for more
	Cut     uint64 `json:"cut"`     // connections ended to make room
}

// FeaturesStats is the state of a collection of features.
type FeaturesStats struct {
	CollectionOptions
	Tree    rstar.Stats  `json:"tree"`
	Records RecordsStats `json:"records"`
}

// CollectionInfo describes a collection of a server.
type CollectionInfo struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"` // KindBoxes, KindRecords or KindFeatures
	Objects int    `json:"objects"`
	Loading bool   `json:"loading,omitempty"` // calls fail with ErrNotReady
	// UsedBytes of SlabBytes hold objects and nodes.
	UsedBytes int64 `json:"used_bytes"`
	SlabBytes int64 `json:"slab_bytes"`
	// Kept: of boxes or records, in the server's data directory. Collections of features
	// are kept if the server has one.
	Kept bool `json:"kept,omitempty"`
	// Shards of a collection of records, 0: it is not divided.
	Shards int `json:"shards,omitempty"`
	// Features are the options of a collection of features, of others nil.
	Features *FeaturesOptions `json:"features,omitempty"`
}

// MemoryStats is what the process holds in memory, in bytes.
type MemoryStats struct {
	Resident int64 `json:"resident"` // as of the last 0.1 s
	Limit    int64 `json:"limit"`
	Full     bool  `json:"full"` // writes and connections are refused
	// Goroutines of the process: some for each connection, the same number
	// when all have left.
	Goroutines int `json:"goroutines"`
	// Live is what Go's heap held that was in use, as of the last garbage
	// collection: without what is registered, and without garbage.
	Live int64 `json:"live"`
}

// RequestStats counts the requests of one kind by messages of one transport, since
// the server's start. Searches that clients make by reading are not included.
type RequestStats struct {
	Transport, Kind string
	Count, Failed   uint64
	Seconds         float64 // of workers, for all of them
	// Buckets count the requests that took a worker up to 2^i us each. Requests that
	// took longer than the last one are in Count alone.
	Buckets []uint64
}

// RecordStats is the state of a recording.
type RecordStats struct {
	File    string `json:"file"`
	Writes  bool   `json:"writes"`
	Records uint64 `json:"records"` // requests in the file
	Dropped uint64 `json:"dropped"` // requests that are missing in the file
	Bytes   uint64 `json:"bytes"`
	Error   string `json:"error,omitempty"` // why the recording ended early
}

// LoadStats is a server's load at one moment.
type LoadStats struct {
	// CPU and Busy are the values that heartbeats carry, 0 to 1: the utilisation of the
	// cores that the server may use, by all processes, and the share of their time that
	// its workers serve requests. They are of the last heartbeat's interval, or,
	// without heartbeats, of the time since Load was called last.
	CPU, Busy float64
	Waiting   uint32 // requests that have arrived and are not served yet
}

// Shards
//
// The keys of a collection of records may be divided into shards, so that no two workers
// write to the same memory (HydraDB 4.1, Jakiro's EREW):
//
//	           hash of the key by the shards' seed, upper bits
//	cafes      |  0        |  1        |  2        |  3        |   a kv.Map each
//	owners       worker 0    worker 1    worker 0    worker 1      of each transport
//	              \___________________________/
//	client       a connection to worker 0, and one to worker 1 (package client, lanes.go)
//
// A shard is a separate collection of records: a kv.Map in two slabs, with a number,
// and so with separate leases, kept references, uploads and scans. Shard 0 bears the
// collection's name and stands for all shards when collections are listed, counted and
// dropped. The others are opened as "cafes/1", a name that no collection can have.
//
// A separate hash selects the shard of a key: cuckoo.Hash by a seed that the Maps do
// not use, of which shardOf takes the upper bits. With bits of the Maps' own hash
// each shard would use only a part of its buckets.
//
// Clients divide the keys, and send a request about a shard to its owner. Ownership
// only makes it faster: a Map keeps its locks, which the owner finds free, so that
// a request that strays, over a plain socket or another worker's connection, is
// carried out alike. A write to a shard that does not have the key is refused. One
// goroutine does the background work of all shards, every tick (store.EveryTick).

// MaxShards is how many shards a collection may have: as many as a client may have
// collections (DefaultClientCollections), since each shard takes a collection's place.
const MaxShards = DefaultClientCollections

// ShardStats is the state of a shard.
type ShardStats struct {
	Records int `json:"records"`
	// Owned counts requests about the shard that its owner carried out, Strayed those
	// that plain sockets or other workers carried out.
	Owned   uint64 `json:"owned"`
	Strayed uint64 `json:"strayed"`
}

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
	Store *StoreStats `json:"store,omitempty"`
	// Memory is the memory of the process, and Budgets the clients' parts of it.
	Memory  MemoryStats   `json:"memory"`
	Budgets []BudgetStats `json:"budgets"`
	// Kept are the collections of boxes and records that are kept, sorted.
	Kept []string `json:"kept,omitempty"`
	// Loading are the collections that clients cannot use yet.
	Loading []string `json:"loading,omitempty"`
	// Recording is nil if nothing is recorded.
	Recording *RecordStats `json:"recording,omitempty"`
	// Map says which groups have a store together, as this server knows it; nil: its store is
	// its own.
	Map *StoreMap `json:"map,omitempty"`
	// Groups are the statistics of each group's primary, by its name, if several groups have
	// the store together. The other fields are sums then, where these make sense: of
	// processors, memory, and what collections hold; the rest is zero.
	Groups map[string]*ServerStats `json:"groups,omitempty"`
}

// StoreMap says which group of servers has how much of a store, and what moves.
type StoreMap struct {
	Version uint64       `json:"version"`
	Epoch   uint64       `json:"epoch"` // the version at which something had another owner last
	Groups  []GroupSlots `json:"groups"`
	Moves   []GroupMoves `json:"moves"`
}

// GroupSlots are the slots of a group, of 4,096 in all.
type GroupSlots struct {
	Name   string `json:"name"`
	Slots  int    `json:"slots"`
	Frozen int    `json:"frozen"` // of them: no group takes writes, since they are about to move
}

// GroupMoves are the moves under way between two groups that are at one step.
type GroupMoves struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Step  string `json:"step"`
	Parts int    `json:"parts"` // slots, and ranges of boxes
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
