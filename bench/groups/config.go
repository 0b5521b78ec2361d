package groups

import (
	"cmp"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
)

// Parts are what Run measures, in this order.
var Parts = []string{Writes, Switch, Sync, Lanes, Moves}

// The parts.
const (
	Writes = "writes"
	Switch = "switch"
	Sync   = "sync"
	Lanes  = "lanes"
	Moves  = "moves"
)

// Networks between processes.
const (
	NoNetwork  = "none"       // shared memory
	Namespaces = "namespaces" // soft, over delayed packets
)

// Networks are all of them.
var Networks = []string{NoNetwork, Namespaces}

// Levels are how writes are acknowledged by secondaries; see docs/cluster.md.
var Levels = []string{Received, Durable}

// The levels.
const (
	Received = "received"
	Durable  = "durable"
)

// Kinds are what is written.
var Kinds = []string{Features, Records}

// The kinds: a point of 16 bytes of id and 32 of properties; a key of 16 and a value of 32
// bytes, as HydraDB's.
const (
	Features = "features"
	Records  = "records"
)

// Config is what to run.
type Config struct {
	Program  []string // the command of catfish
	Dir      string   // where directories are made; empty: that of temporary files
	Parts    []string
	Networks []string
	Delays   []time.Duration // one way, in namespaces
	Members  []int           // of groups that are measured by writes
	Levels   []string
	Kinds    []string
	Clients  []int  // with a connection each, and one write under way
	Sync     string // --sync of all servers
	Duration time.Duration
	Warmup   time.Duration
	Rounds   int
	Switches int
	Moves    int // of a slot
	Entries  int // that each way of a lane writes
	Objects  int // features that the primary has before a member is added
	// Cores as taskset knows them, empty: any.
	ServerCPUs, ClientCPUs string
	Commit                 string // for the rows
}

const (
	maxMembers = 5
	maxDelay   = time.Second
	maxObjects = 100_000_000
)

// Validate checks all that can be checked before anything runs.
func (c *Config) Validate() error {
	if len(c.Parts) == 0 || len(c.Networks) == 0 || len(c.Members) == 0 || len(c.Levels) == 0 || len(c.Kinds) == 0 || len(c.Clients) == 0 ||
		len(c.cells()) == 0 {
		return fmt.Errorf("%w: a list of parts, networks, delays, members, levels, kinds or clients is empty: nothing to measure", harness.ErrConfig)
	}
	err := cmp.Or(
		harness.CheckNames("part", c.Parts, Parts), harness.CheckNames("network", c.Networks, Networks),
		harness.CheckNames("level", c.Levels, Levels), harness.CheckNames("kind", c.Kinds, Kinds),
		harness.CheckRange("rounds", c.Rounds, 1, harness.MaxRepeat), harness.CheckRange("switches", c.Switches, 1, harness.MaxRepeat),
		harness.CheckRange("moves", c.Moves, 1, harness.MaxRepeat),
		harness.CheckRange("entries", c.Entries, 1, maxObjects), harness.CheckRange("objects", c.Objects, 1, maxObjects),
		harness.CheckDuration(c.Duration), harness.CheckWarmup(c.Warmup),
	)
	for _, n := range c.Members {
		err = cmp.Or(err, harness.CheckRange("members", n, 1, maxMembers))
	}
	for _, n := range c.Clients {
		err = cmp.Or(err, harness.CheckRange("clients", n, 1, harness.MaxClients))
	}
	for _, d := range c.Delays {
		if err == nil && (d < 0 || d > maxDelay) {
			err = fmt.Errorf("%w: delay is %v, want 0 to %v", harness.ErrConfig, d, maxDelay)
		}
	}
	return err
}

// cell is a network with its delay.
type cell struct {
	network string
	delay   time.Duration
}

// transport of lanes and clients.
func (c cell) transport() string {
	if c.network == NoNetwork {
		return "shm"
	}
	return "soft"
}

func (c cell) String() string {
	if c.network == NoNetwork {
		return "shm"
	}
	return fmt.Sprintf("soft, delay %v", c.delay)
}

func (c *Config) cells() (all []cell) {
	for _, n := range c.Networks {
		if n == NoNetwork {
			all = append(all, cell{network: n})
			continue
		}
		for _, d := range c.Delays {
			all = append(all, cell{n, d})
		}
	}
	return all
}

// setup is what writes go to: Members 0 is a server alone.
type setup struct {
	members int
	level   string
}

func (s setup) String() string {
	switch s.members {
	case 0:
		return "alone"
	case 1:
		return "1 member"
	}
	return fmt.Sprintf("%d members, %s", s.members, s.level)
}

// setups begin with the server alone. A group of one waits for no other member.
func (c *Config) setups() []setup {
	all := []setup{{}}
	for _, n := range c.Members {
		for i, level := range c.Levels {
			if n > 1 || i == 0 {
				all = append(all, setup{n, level})
			}
		}
	}
	return all
}
