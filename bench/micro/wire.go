package micro

import (
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/rdma"
)

// The roles of children.
const (
	ServerRole child.Role = "micro-server"
	ClientRole child.Role = "micro-client"
)

// serverJob is the first line that a server child reads.
type serverJob struct {
	Op        Op            `json:"op"`
	Transport string        `json:"transport"`
	Fabric    bench.Fabric  `json:"fabric"`
	Listen    string        `json:"listen"` // of sockets
	Bytes     int           `json:"bytes"`  // of the largest request
	Patience  time.Duration `json:"patience_ns"`
}

// serverReady is its answer as soon as it can be dialed.
type serverReady struct {
	Addr   string      `json:"addr"`
	Remote rdma.Remote `json:"remote"` // its memory; not of tcp
}

// clientJob is the first line that a client child reads.
type clientJob struct {
	Op        Op            `json:"op"`
	Transport string        `json:"transport"`
	Fabric    bench.Fabric  `json:"fabric"`
	Addr      string        `json:"addr"`
	Remote    rdma.Remote   `json:"remote"`
	Sizes     []int         `json:"sizes"`
	Bytes     int           `json:"bytes"` // the largest of Sizes
	Duration  time.Duration `json:"duration_ns"`
	Repeat    int           `json:"repeat"`
	Patience  time.Duration `json:"patience_ns"`
}

// clientReady is its answer as soon as it is connected.
type clientReady struct {
	Device string `json:"device"`
}

// run is one measurement of one size.
type run struct {
	Bytes   int                   `json:"bytes"`
	Seed    uint64                `json:"seed"` // of the bytes that it wrote
	Elapsed time.Duration         `json:"elapsed_ns"`
	Latency *latency.Distribution `json:"latency"`
	Util    float64               `json:"util"` // of the client's cores, without spinning
}

// check asks a server whether its memory begins with this many bytes of a
// seed, and is otherwise unchanged.
type check struct {
	Bytes int    `json:"bytes"`
	Seed  uint64 `json:"seed"`
}

// command is a line to a server child after its job. Without a check it reports its
// usage.
type command struct {
	Check *check `json:"check,omitempty"`
}
