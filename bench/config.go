package bench

import (
	"cmp"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Config says what Run measures. Zero values are replaced by the
// defaults that the fields give.
type Config struct {
	Schemes []string // in this order; DefaultSchemes
	Dataset string   // a name or file that package datasets opens; uniform
	Objects int      // how many a generator makes; 2,000,000
	Scale   string   // query edges: 1e-5, 1e-2 or power; 1e-5
	// Queries is a file of rectangles, of any format that package datasets
	// reads, to search for instead of those that Scale draws.
	Queries  string
	Mix      Mix           // SearchOnly
	Inserts  Inserts       // PaperInserts
	Clients  int           // connections, over all processes; 8
	InFlight int           // goroutines per connection; 16
	Batch    int           // searches per call, by SearchMany if not 1; 1
	Procs    int           // client processes; 1
	Warmup   time.Duration // not measured; 1 s
	Duration time.Duration // measured; 5 s
	// Requests, if not 0, ends the measured interval by count instead: each
	// client makes this many calls, over all its goroutines, after a tenth as
	// many for warming up. Warmup means nothing then; Duration, if not 0, is
	// when the interval ends at the latest, and the warm-up after a tenth of
	// it: calls not made until then are cut, see Row.Cut.
	Requests int
	// Detail adds to each row the distribution of latencies, and with
	// Requests what happened over time.
	Detail    bool
	Repeat    int    // runs per scheme, of which medians; 1
	Transport string // shm, soft, ofi or auto; auto
	Listen    string // host:port of the server; 127.0.0.1:0
	Fabric    Fabric // of ofi
	Seed      uint64 // of data and queries; 0 is a seed too

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned

	// WorkerPerConnection gives each connection a worker with a thread of its
	// own in the server (catfish.ServerOptions), as in the paper.
	WorkerPerConnection bool
	// HeartbeatInRing is that of catfish.ServerOptions, as in the paper.
	HeartbeatInRing bool

	NodeBytes int   // of the tree; 0: the tree's default
	SlabBytes int64 // of the tree; 0: the tree's default

	Strategy rstar.Strategy // of the tree; Revised
	Inserted bool           // objects one by one, not loaded at once
	Backoff  policy.Backoff // of paper and paper-literal; the paper's

	Commit string // of the program, for the rows
}

// DefaultSchemes are all schemes that the paper compares, and the default policy.
var DefaultSchemes = []string{
	"tcp", "fast-polling", "fast", "offload-single", "offload", "paper", policy.Default,
}

// Limits against typing errors; all far beyond what one machine drives.
const (
	maxRequests = 1 << 31
	maxObjects  = 1 << 32 // the tree's chunks are numbered by 32 bits
)

func (c Config) withDefaults() Config {
	harness.Default(&c.Dataset, "uniform")
	harness.Default(&c.Objects, 2_000_000)
	harness.Default(&c.Scale, "1e-5")
	harness.Default(&c.Mix, SearchOnly)
	harness.Default(&c.Inserts, PaperInserts)
	harness.Default(&c.Clients, 8)
	harness.Default(&c.InFlight, 16)
	harness.Default(&c.Batch, 1)
	harness.Default(&c.Procs, 1)
	if c.Requests == 0 {
		harness.Default(&c.Warmup, time.Second)
		harness.Default(&c.Duration, 5*time.Second)
	}
	harness.Default(&c.Repeat, 1)
	harness.Default(&c.Transport, "auto")
	if len(c.Schemes) == 0 {
		c.Schemes = DefaultSchemes
	}
	return c
}

// Fabric picks the device of transport ofi, see catfish.Fabric.
type Fabric struct {
	Provider, Device, Addr string
}

// Validate checks every value but the data set, which is opened only by
// the server. Errors wrap harness.ErrConfig and name the value and the range.
// known lists the schemes that exist.
func (c Config) Validate(known []string) error {
	c = c.withDefaults()
	if err := harness.CheckNames("scheme", c.Schemes, known); err != nil {
		return err
	}
	for _, s := range c.Schemes {
		if c.Transport == "tcp" && s != "tcp" {
			return fmt.Errorf("%w: scheme %q cannot run on transport tcp", harness.ErrConfig, s)
		}
	}
	if _, err := datasets.ParseScale(c.Scale); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	most := harness.MaxClients
	if c.WorkerPerConnection {
		most = catfish.MaxConnectionWorkers
	}
	var duration error
	if c.Requests == 0 || c.Duration != 0 {
		duration = harness.CheckDuration(c.Duration)
	}
	return cmp.Or(
		c.Inserts.validate(),
		harness.CheckRange("objects", c.Objects, 1, maxObjects),
		harness.CheckRange("clients", c.Clients, 1, most),
		harness.CheckRange("in-flight", c.InFlight, 1, harness.MaxInFlight),
		harness.CheckRange("batch", c.Batch, 1, harness.MaxBatch), // for which minQueries suffices
		harness.CheckRange("client-procs", c.Procs, 1, c.Clients),
		harness.CheckRange("repeat", c.Repeat, 1, harness.MaxRepeat),
		harness.CheckRange("requests", c.Requests, 0, maxRequests),
		duration,
		harness.CheckWarmup(c.Warmup),
		checkTree(c.NodeBytes, c.SlabBytes, c.Strategy),
		checkBackoff(c.Backoff),
		harness.CheckCores(c.ServerCPUs, c.ClientCPUs),
	)
}

// checkTree checks the settings from which a server builds its tree.
func checkTree(nodeBytes int, slabBytes int64, by rstar.Strategy) error {
	if err := (rstar.Options{NodeBytes: nodeBytes, SlabBytes: slabBytes, Strategy: by}).Validate(); err != nil {
		return fmt.Errorf("%w: node-bytes %d, slab-bytes %d: %w", harness.ErrConfig, nodeBytes, slabBytes, err)
	}
	return nil
}

// serverJob is the job of the server of one scheme.
func (c Config) serverJob() ServerJob {
	return ServerJob{
		Dataset: c.Dataset, Objects: c.Objects, Seed: c.Seed,
		Listen: c.Listen, Transport: c.Transport, Fabric: c.Fabric,
		NodeBytes: c.NodeBytes, SlabBytes: c.SlabBytes, Strategy: c.Strategy, Inserted: c.Inserted,
		WorkerPerConnection: c.WorkerPerConnection, MaxProcs: c.maxProcs(), HeartbeatInRing: c.HeartbeatInRing,
	}
}

// spareProcs is what a server needs of GOMAXPROCS besides one for each worker
// that polls: for accepting, sampling its load and answering its parent.
const spareProcs = 8

// maxProcs is the server's GOMAXPROCS, 0: unchanged.
func (c Config) maxProcs() int {
	if !c.WorkerPerConnection {
		return 0
	}
	return c.Clients + spareProcs
}

// clientJob is the job of client process proc of one scheme. The clients are
// distributed evenly over the processes.
func (c Config) clientJob(scheme string, proc int, server ServerReady) ClientJob {
	job := ClientJob{
		Addr: server.Addr, Transport: c.Transport, Fabric: c.Fabric, Policy: scheme, Backoff: c.Backoff,
		Dataset: c.Dataset, Bounds: server.Bounds,
		Scale: c.Scale, Queries: c.Queries, Mix: c.Mix, Inserts: c.Inserts, Seed: c.Seed, Proc: proc,
		Clients:  c.Clients/c.Procs + btoi(proc < c.Clients%c.Procs),
		InFlight: c.InFlight, Batch: c.Batch, Warmup: c.Warmup, Requests: c.Requests,
		Samples: 1, Interval: c.Duration, Verify: c.Mix.ReadOnly(),
	}
	if scheme == "tcp" {
		job.Transport = "tcp"
	}
	return job
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
