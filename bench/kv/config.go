package kv

import (
	"cmp"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Config says what Run measures. Zero values are replaced by the defaults that
// the fields give.
type Config struct {
	Schemes  []string    // in this order; DefaultSchemes
	Workload ycsb.Config // mix A, a million keys with 32 B values

	Clients  int // connections, over all processes; 8
	InFlight int // operations per connection; 16
	// InFlightOf has the schemes that have another number.
	InFlightOf map[string]int
	Batch      int         // keys of a GetMany, 1: single Gets; 1
	Procs      int         // client processes; 1
	Shards     int         // of Catfish's collection; 0: it is not divided
	Table      cuckoo.Kind // of its key index
	Items      int         // items of a bucket of that; 0: cuckoo.MaxItems
	MaxBytes   int64       // limit of the collection, which is a cache; 0: it is none

	// FetchBytes and FetchRetries are RFP's F and R, of schemes fetch (0: the client's own choice) and literal (0:
	// a value of ValueBytes with its headers; it has no R). FetchAlways keeps scheme fetch from letting
	// answers be written that are in time.
	FetchBytes, FetchRetries int
	FetchAlways              bool

	Warmup    time.Duration // not measured; 1 s
	Duration  time.Duration // measured; 5 s
	Repeat    int           // runs per scheme, of which medians; 1
	Transport string        // of Catfish: shm, soft, ofi or auto; auto
	Fabric    bench.Fabric  // of ofi

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned

	Commit string // of the program, for the rows
}

// DefaultSchemes are both paths with and without cached references, the
// paper's choice between them, and the default policy.
var DefaultSchemes = []string{"tcp", "fast", "offload", "offload-cached", "paper", "cost"}

// maxValueBytes is a limit against typing errors.
const maxValueBytes = 1 << 20

func (c Config) withDefaults() Config {
	w := &c.Workload
	if w.Mix == (ycsb.Mix{}) {
		w.Mix, w.Dist, w.Theta = ycsb.MixA, ycsb.Zipfian, ycsb.Theta
	}
	harness.Default(&w.Keys, 1_000_000)
	harness.Default(&w.ValueBytes, 32)
	harness.Default(&c.Clients, 8)
	harness.Default(&c.InFlight, 16)
	harness.Default(&c.Batch, 1)
	harness.Default(&c.Procs, 1)
	harness.Default(&c.Warmup, time.Second)
	harness.Default(&c.Duration, 5*time.Second)
	harness.Default(&c.Repeat, 1)
	harness.Default(&c.Transport, catfish.TransportAuto)
	if len(c.Schemes) == 0 {
		c.Schemes = DefaultSchemes
	}
	return c
}

// Workload is a letter's mix with the usual skew, and the named distribution:
// empty is YCSB's own, latest for D and zipf for the others. The caller sets
// Keys, ValueBytes and Seed, and may set Theta. Errors wrap harness.ErrConfig.
func Workload(mix, dist string) (ycsb.Config, error) {
	w := ycsb.Config{Dist: ycsb.Zipfian, Theta: ycsb.Theta}
	var err error
	if w.Mix, err = ycsb.ParseMix(mix); err != nil {
		return w, fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	if w.Mix == ycsb.MixD {
		w.Dist = ycsb.Latest
	}
	if dist != "" {
		if w.Dist, err = ycsb.ParseDist(dist); err != nil {
			return w, fmt.Errorf("%w: %w", harness.ErrConfig, err)
		}
	}
	return w, nil
}

// Validate checks every value. Errors wrap harness.ErrConfig and name the value and
// the range. known lists the schemes that exist.
func (c Config) Validate(known []string) error {
	c = c.withDefaults()
	if err := harness.CheckNames("scheme", c.Schemes, known); err != nil {
		return err
	}
	for _, s := range c.Schemes {
		if _, err := catfish.SchemeByName(s); err == nil && c.Transport == catfish.TransportTCP && s != c.Transport {
			return fmt.Errorf("%w: scheme %q cannot run on transport tcp", harness.ErrConfig, s)
		}
		if s == Literal {
			if err := c.checkLiteral(); err != nil {
				return err
			}
		}
		if err := harness.CheckRange("in-flight of "+s, c.inFlight(s), 1, harness.MaxInFlight); err != nil {
			return err
		}
	}
	if err := c.Workload.Validate(); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	if err := (&catfish.RecordsOptions{Shards: c.Shards, MaxBytes: c.MaxBytes}).Validate(); c.MaxBytes != 0 && err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	if m := c.Workload.Mix; m.Has(ycsb.Scan) {
		return fmt.Errorf("%w: mix %v scans keys in their order, which records have none of", harness.ErrConfig, m)
	}
	return cmp.Or(
		harness.CheckRange("value-bytes", max(c.Workload.ValueBytes, c.Workload.LargestValueBytes), 1, maxValueBytes),
		harness.CheckRange("clients", c.Clients, 1, harness.MaxClients),
		harness.CheckRange("batch", c.Batch, 1, harness.MaxBatch),
		harness.CheckRange("client-procs", c.Procs, 1, c.Clients),
		harness.CheckRange("shards", c.Shards, 0, catfish.MaxShards),
		harness.CheckRange("items", c.Items, 0, cuckoo.MaxItems),
		harness.CheckRange("fetch-bytes", c.FetchBytes, 0, fastmsg.MaxFetchBytes),
		harness.CheckRange("fetch-retries", c.FetchRetries, 0, fastmsg.MaxFetchRetries),
		harness.CheckRange("repeat", c.Repeat, 1, harness.MaxRepeat),
		harness.CheckDuration(c.Duration), harness.CheckWarmup(c.Warmup),
		harness.CheckCores(c.ServerCPUs, c.ClientCPUs),
	)
}

func (c Config) inFlight(scheme string) int {
	if n, ok := c.InFlightOf[scheme]; ok {
		return n
	}
	return c.InFlight
}

// serverJob is the job of the server of one scheme.
func (c Config) serverJob(scheme string) ServerJob {
	return ServerJob{
		Scheme: scheme, Transport: c.transport(scheme), Fabric: c.Fabric, Polling: bench.Polls(scheme),
		Keys: c.Workload.Keys, ValueBytes: max(c.Workload.ValueBytes, c.Workload.LargestValueBytes), Shards: c.Shards,
		Table: c.Table, Items: c.Items, MaxBytes: c.MaxBytes,
	}
}

// clientJob is the job of client process proc of one scheme. Clients and keys
// are distributed evenly over the processes.
func (c Config) clientJob(scheme string, proc int, server ServerReady) ClientJob {
	first, next := c.Clients*proc/c.Procs, c.Clients*(proc+1)/c.Procs
	n := uint64(c.Procs)
	each, rest, p := c.Workload.Keys/n, c.Workload.Keys%n, uint64(proc)
	from := p*each + min(p, rest)
	to := from + each
	if p < rest {
		to++
	}
	return ClientJob{
		Addr: server.Addr, Scheme: scheme, Transport: c.transport(scheme), Fabric: c.Fabric,
		Workload: c.Workload, LoadFrom: from, LoadTo: to, FirstClient: first, Clients: next - first,
		FetchBytes: c.FetchBytes, FetchRetries: c.FetchRetries, FetchAlways: c.FetchAlways, Shards: c.Shards,
		InFlight: c.inFlight(scheme), Batch: c.Batch, Warmup: c.Warmup, Duration: c.Duration, Cache: c.MaxBytes > 0,
	}
}

// transport is a scheme's transport: tcp has its own.
func (c Config) transport(scheme string) string {
	if scheme == catfish.TransportTCP {
		return scheme
	}
	return c.Transport
}
