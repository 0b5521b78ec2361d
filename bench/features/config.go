package features

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
)

// Works, in the order in which Run runs them.
const (
	Load          = "load"       // features/s into memory, in the server and over a ring
	Memory        = "memory"     // memory of the features
	SearchOne     = "search-1"   // boxes with one feature
	SearchHundred = "search-100" // boxes with 90 to 110
	Nearest       = "nearest"    // 10, by a filter that passes one in ten
	Upsert        = "upsert"     // durable
	Move          = "move"       // points to other places, with sync off
	Restart       = "restart"    // after a crash
	Country       = "country"    // in which country a point lies
	Fences        = "geofences"  // watched areas, and objects that move
)

// Works are all works.
var Works = []string{Load, Memory, SearchOne, SearchHundred, Nearest, Upsert, Move, Restart, Country, Fences}

// Ways to do a work.
const (
	Ring    = "ring"    // Catfish's client, by messages, shm
	Offload = "offload" // its own reads, with cached nodes
	Default = "default" // its default policy
	Sockets = "tcp"     // plain sockets
	GRPC    = "grpc"    // package api
	Echo    = "echo"    // plain grpc-go with the same messages, and no search
	Tile38  = "tile38"  // Tile38, by RESP
	Process = "process" // in the server's process
	Disk    = "disk"    // writing as many bytes to a file, with fsync
)

// waysOf returns the ways of a work, the reference first.
func waysOf(work string, tile38 bool) []string {
	var ways []string
	switch work {
	case SearchOne:
		ways = []string{Ring, Offload, Default, Sockets, GRPC, Echo}
	case SearchHundred:
		ways = []string{GRPC, Ring, Offload}
	case Nearest:
		ways = []string{GRPC, Ring}
	case Upsert:
		return []string{Ring, Process, Disk}
	case Move:
		return []string{Ring, Process}
	case Country:
		return []string{Land, Globe}
	case Fences:
		return []string{Process}
	}
	if tile38 {
		ways = append(ways, Tile38)
	}
	return ways
}

// AllWays are the ways of all works.
var AllWays = []string{Ring, Offload, Default, Sockets, GRPC, Echo, Tile38, Process, Disk, Land, Globe}

// ways returns the requested ways of a work.
func (c *Config) ways(work string, tile38 bool) []string {
	return slices.DeleteFunc(waysOf(work, tile38), func(way string) bool {
		return len(c.Ways) > 0 && !slices.Contains(c.Ways, way)
	})
}

// isSearch reports whether a work reads from a server in memory.
func isSearch(work string) bool { return work == SearchOne || work == SearchHundred || work == Nearest }

// Config says what Run measures. Zero values are replaced by the defaults that the
// fields give.
type Config struct {
	Works    []string // some of Works; all
	Ways     []string // of works with several; all
	Features int      // 2,000,000
	Seed     uint64
	Source   string // file from which features are made
	// Borders keeps features larger than a twentieth of the source; most places
	// lie in several of them. Searches for one feature find up to 8 then.
	Borders bool
	// Countries is a file of polygons for work Country.
	Countries string
	// Dir is where data directories are made and removed; os.TempDir. Works
	// that write measure its disk.
	Dir    string
	Tile38 string // program tile38-server; empty: none

	Clients  int // connections; 8
	InFlight int // in-flight searches per connection; 16
	Writes   int // in-flight writes, of all connections together; 256
	// Pipeline is how many searches a connection to Tile38 sends together; 16.
	Pipeline int

	Areas   int // watched, of work Fences; 100,000
	Objects int // that move there; 10,000

	Warmup   time.Duration // not measured; 1 s
	Duration time.Duration // measured; 5 s
	Repeat   int           // rounds; 3

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned

	Commit string
}

// Limits against typing errors; all far beyond what one machine drives.
const (
	maxFeatures = 1 << 28
	maxClients  = 1 << 12
	maxWrites   = 1 << 14
	maxAreas    = 200_000 // store.WatchLimits.WatcherAreas
	maxObjects  = 1 << 20
)

func (c Config) withDefaults() Config {
	if len(c.Works) == 0 {
		c.Works = Works
	}
	harness.Default(&c.Features, 2_000_000)
	harness.Default(&c.Clients, 8)
	harness.Default(&c.InFlight, 16)
	harness.Default(&c.Writes, 256)
	harness.Default(&c.Pipeline, 16)
	harness.Default(&c.Areas, 100_000)
	harness.Default(&c.Objects, 10_000)
	harness.Default(&c.Warmup, time.Second)
	harness.Default(&c.Duration, 5*time.Second)
	harness.Default(&c.Repeat, 3)
	return c
}

// Validate checks every value. Errors wrap harness.ErrConfig and name the value and
// the range.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, w := range c.Ways {
		if !slices.Contains(AllWays, w) {
			return fmt.Errorf("%w: unknown way %q, want some of %s", harness.ErrConfig, w, strings.Join(AllWays, ", "))
		}
	}
	return cmp.Or(
		harness.CheckNames("work", c.Works, Works),
		harness.CheckRange("features", c.Features, 1, maxFeatures),
		harness.CheckRange("clients", c.Clients, 1, maxClients),
		harness.CheckRange("in-flight", c.InFlight, 1, harness.MaxInFlight),
		harness.CheckRange("writes", c.Writes, c.Clients, maxWrites),
		harness.CheckRange("pipeline", c.Pipeline, 1, harness.MaxInFlight),
		harness.CheckRange("areas", c.Areas, 1, maxAreas),
		harness.CheckRange("objects", c.Objects, 1, maxObjects),
		harness.CheckRange("repeat", c.Repeat, 1, harness.MaxRepeat),
		harness.CheckDuration(c.Duration), harness.CheckWarmup(c.Warmup),
		harness.CheckCores(c.ServerCPUs, c.ClientCPUs),
	)
}

func (c *Config) has(works ...string) bool {
	return slices.ContainsFunc(works, func(w string) bool { return slices.Contains(c.Works, w) })
}

// policyOf returns the policy and transport of a way over rings or sockets.
func policyOf(way string) (policy, transport string) {
	switch way {
	case Offload:
		return "offload-cached", catfish.TransportSHM
	case Default:
		return catfish.DefaultPolicy, catfish.TransportSHM
	case Sockets:
		return "tcp", catfish.TransportTCP
	}
	return "fast", catfish.TransportSHM
}
