package kv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	Label    string      // in the table: what tells this configuration from others of one Run
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
	Sync       string      // when a write is durable, SyncAlways or SyncOff; empty: servers keep nothing
	Dir        string      // where servers that keep something make their directories; os.TempDir

	// FetchBytes and FetchRetries are RFP's F and R, of schemes fetch (0: the client's own choice) and literal (0:
	// a value of ValueBytes with its headers; it has no R). FetchAlways keeps scheme fetch from letting
	// answers be written that are in time.
	FetchBytes, FetchRetries int
	FetchAlways              bool
	// SharedPointers is the file by which client processes keep references together, with schemes
	// that keep some; empty: each process its own. It is a path, or auto (catfish.Options).
	SharedPointers string

	// Pointers is where references come from that schemes with a cache keep: "lookups" or
	// "answers" (catfish.Options.Pointers); empty: lookups.
	Pointers string

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

// Values of Config.Sync: before a write is answered, and when the operating system has written it.
const (
	SyncAlways = "always"
	SyncOff    = "off"
)

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

// hydraDB has the shares of GETs of HydraDB's mixes (section 6): hydra-a to hydra-c are by Zipf's
// law, hydra-d to hydra-f are the same with uniform keys. The others are updates.
var hydraDB = [3]int{50, 90, 100}

// hydraMix is one of HydraDB's mixes, ok: mix is its name.
func hydraMix(mix string) (m ycsb.Mix, d ycsb.Dist, ok bool) {
	letter, named := strings.CutPrefix(mix, "hydra-")
	if !named || len(letter) != 1 || letter[0] < 'a' || letter[0] > 'f' {
		return m, d, false
	}
	i := int(letter[0] - 'a')
	if d = ycsb.Zipfian; i >= len(hydraDB) {
		d = ycsb.Uniform
	}
	m[ycsb.Read] = hydraDB[i%len(hydraDB)]
	m[ycsb.Update] = 100 - m[ycsb.Read]
	return m, d, true
}

// Workload is a letter's mix with the usual skew, and the named distribution:
// empty is YCSB's own, latest for D and zipf for the others. Mixes hydra-a to hydra-f are
// HydraDB's, with their distribution, and allow no other one. The caller sets
// Keys, ValueBytes and Seed, and may set Theta. Errors wrap harness.ErrConfig.
func Workload(mix, dist string) (ycsb.Config, error) {
	w := ycsb.Config{Dist: ycsb.Zipfian, Theta: ycsb.Theta}
	var err error
	if m, d, ok := hydraMix(mix); ok {
		if w.Mix, w.Dist = m, d; dist != "" && dist != d.String() {
			return w, fmt.Errorf("%w: distribution %q with mix %s, which is %v", harness.ErrConfig, dist, mix, d)
		}
		return w, nil
	}
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
		if isLiteral(s) {
			if err := c.checkLiteral(s); err != nil {
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
	if !slices.Contains([]string{"", SyncAlways, SyncOff}, c.Sync) {
		return fmt.Errorf("%w: sync is %q, want %s or %s", harness.ErrConfig, c.Sync, SyncAlways, SyncOff)
	}
	if err := c.checkPointers(); err != nil {
		return err
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

func (c Config) checkPointers() error {
	if err := harness.CheckNames("pointers", []string{cmp.Or(c.Pointers, catfish.PointersLookups)}, []string{catfish.PointersLookups, catfish.PointersAnswers}); err != nil {
		return err
	}
	for flag, value := range map[string]string{"pointers": c.Pointers, "shared-pointers": c.SharedPointers} {
		if value != "" && !slices.ContainsFunc(c.Schemes, keepsReferences) {
			return fmt.Errorf("%w: %s is %s, and none of schemes %s keeps references, as offload-cached and cost do",
				harness.ErrConfig, flag, value, strings.Join(c.Schemes, ", "))
		}
	}
	return nil
}

func keepsReferences(scheme string) bool {
	s, err := catfish.SchemeByName(scheme)
	return err == nil && s.Cached
}

// pointers are Pointers and SharedPointers for a scheme that keeps references.
func (c Config) pointers(scheme string) (from, shared string) {
	if keepsReferences(scheme) {
		return c.Pointers, c.SharedPointers
	}
	return "", ""
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
		Scheme: scheme, Transport: c.transport(scheme), Fabric: c.Fabric,
		Keys: c.Workload.Keys, ValueBytes: max(c.Workload.ValueBytes, c.Workload.LargestValueBytes), Shards: c.Shards,
		Table: c.Table, Items: c.Items, MaxBytes: c.MaxBytes, Sync: c.Sync, Dir: c.Dir,
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
	pointers, shared := c.pointers(scheme)
	return ClientJob{
		Addr: server.Addr, Scheme: scheme, Transport: c.transport(scheme), Fabric: c.Fabric,
		Workload: c.Workload, LoadFrom: from, LoadTo: to, FirstClient: first, Clients: next - first,
		FetchBytes: c.FetchBytes, FetchRetries: c.FetchRetries, FetchAlways: c.FetchAlways, Shards: c.Shards, Pointers: pointers, SharedPointers: shared,
		InFlight: c.inFlight(scheme), Batch: c.Batch, Warmup: c.Warmup, Duration: c.Duration, Cache: c.MaxBytes > 0,
	}
}

// Vary is c with each mix, each skew of zipf and latest, and each key index, and Labels of those of which there are
// several. Distributions are those of Workload. Errors wrap harness.ErrConfig.
func (c Config) Vary(mixes []string, dist string, thetas []float64, tables []cuckoo.Kind) (all []Config, err error) {
	for _, mix := range mixes {
		w, err := Workload(mix, dist)
		if err != nil {
			return nil, err
		}
		for _, theta := range thetas {
			for _, table := range tables {
				v := c
				v.Workload.Mix, v.Workload.Dist, v.Workload.Theta, v.Table = w.Mix, w.Dist, theta, table
				var label []string
				if len(mixes) > 1 {
					label = append(label, mix)
				}
				if len(thetas) > 1 {
					label = append(label, fmt.Sprint(theta))
				}
				if len(tables) > 1 {
					label = append(label, table.String())
				}
				v.Label = strings.Join(label, " ")
				all = append(all, v)
			}
		}
	}
	return all, nil
}

// transport is a scheme's transport: tcp has its own.
func (c Config) transport(scheme string) string {
	if scheme == catfish.TransportTCP {
		return scheme
	}
	return c.Transport
}
