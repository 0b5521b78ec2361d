package mongo

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
)

// Works of a run, in their order.
const (
	Insert = "insert" // of an id that is not there
	Query  = "query"  // by id
	Update = "update" // on the condition that the revision is the one that was read: the paper compares first
	Delete = "delete" // by id
)

// Works are all works.
var Works = []string{Insert, Query, Update, Delete}

// Transports are what may be compared, the reference first.
var Transports = []string{catfish.TransportTCP, catfish.TransportSHM, catfish.TransportSoft}

// Config is what to run.
type Config struct {
	Source     string   // an OpenStreetMap extract, of which documents are made
	Transports []string // some of Transports; the first is the reference
	Figures    []int    // 10, 11
	Records    []int    // figure 10: how many documents one thread writes
	Threads    []int    // figure 11: goroutines, each with a connection of its own
	Each       int      // figure 11: operations of a thread
	Rounds     int
	Seed       uint64

	ServerCPUs, ClientCPUs affinity.Set
	Commit                 string // for the rows
}

const (
	maxRecords = 10_000_000
	maxThreads = 4096
)

// Validate checks all that can be checked before anything runs.
func (c *Config) Validate() error {
	for _, f := range c.Figures {
		if err := harness.CheckRange("figure", f, 10, 11); err != nil {
			return err
		}
	}
	if len(c.Transports) == 0 || len(c.sizes()) == 0 {
		return fmt.Errorf("%w: %d transports, %d points: nothing to measure", harness.ErrConfig, len(c.Transports), len(c.sizes()))
	}
	if err := harness.CheckNames("transport", c.Transports, Transports); err != nil {
		return err
	}
	if err := harness.CheckRange("rounds", c.Rounds, 1, harness.MaxRepeat); err != nil {
		return err
	}
	for _, n := range c.Records {
		if err := harness.CheckRange("records", n, 1, maxRecords); err != nil {
			return err
		}
	}
	for _, n := range c.Threads {
		if err := harness.CheckRange("threads", n, 1, maxThreads); err != nil {
			return err
		}
		if err := harness.CheckRange("operations of all threads", n*c.Each, n, maxRecords); err != nil {
			return err
		}
	}
	return harness.CheckCores(c.ServerCPUs, c.ClientCPUs)
}

// size is a point of a figure.
type size struct{ figure, threads, each int }

// sizes are the points of both figures.
func (c *Config) sizes() (all []size) {
	for _, n := range c.Records {
		all = append(all, size{10, 1, n})
	}
	for _, n := range c.Threads {
		all = append(all, size{11, n, c.Each})
	}
	return slices.DeleteFunc(all, func(s size) bool { return !slices.Contains(c.Figures, s.figure) })
}

// most is how many documents the largest run has.
func (c *Config) most() (n int) {
	for _, s := range c.sizes() {
		n = max(n, s.threads*s.each)
	}
	return n
}
