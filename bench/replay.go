package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
)

// Replaying a list of queries
//
// Run draws its queries and works until its time is up. Replay has a
// list, from a file, and asks each of its queries exactly once, whatever
// the concurrency: query i goes to process i mod Procs, whose goroutines
// take theirs in the order of the list. So two replays of one list can
// be compared query by query.
//
//	parent (Replay)           server child      replay children
//	  | queries -> one log file
//	  | ServerJob ---------------> load or empty
//	  | ReplayJob --------------------------------> dial; the first inserts
//	  | <------------------------------------------ ready
//	  | go ---------------------------------------> ask, each once
//	  | <------------------------------------------ latencies; answers: file
//	  | verify, compare, write results
//
// The answers stay in the memory of the children until all queries are
// asked: nothing but asking happens meanwhile.

// ReplayConfig says what Replay does. Zero values are replaced by the
// defaults that the fields give.
type ReplayConfig struct {
	Schemes []string // each on a fresh server, unless there is Addr; paper
	// Data is what package datasets opens; empty: nothing, which needs
	// Addr. Objects and Seed are for generators.
	Data    string
	Objects int
	Seed    uint64
	// Queries is a log of queries, QR0 to QR3 (of Data), a scale (within
	// the bounds of Data, QueryCount of them), or what package datasets
	// opens, each rectangle of which is a search.
	Queries    string
	QueryCount int // 10,000, the paper's requests of a client
	// Recorded is the collection whose requests are taken from a log that
	// has several.
	Recorded string

	Addr        string        // a running server; empty: one is started
	Collection  string        // of the running server; default
	DialTimeout time.Duration // 0: the client's default
	Bulk        bool          // load at once and not by insertion; not with Addr
	NoLoad      bool          // Data is on the running server already

	Clients   int    // connections, over all processes; 8
	InFlight  int    // calls under way per connection; 16
	Procs     int    // client processes; 1
	Transport string // auto
	Fabric    Fabric

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned

	NodeBytes int   // 0: the tree's default
	SlabBytes int64 // 0: the tree's default

	Verify bool // compare all answers with those of another index
	IDs    bool // hand the ids that were found to the results

	Commit string
}

const (
	defaultQueryCount = 10_000 // the paper, section V-A
	// maxQueryCount, as the other limits, is against typing errors.
	maxQueryCount = 1 << 31
)

func (c ReplayConfig) withDefaults() ReplayConfig {
	def(&c.QueryCount, defaultQueryCount)
	def(&c.Collection, "default")
	def(&c.Clients, 8)
	def(&c.InFlight, 16)
	def(&c.Procs, 1)
	def(&c.Transport, "auto")
	if len(c.Schemes) == 0 {
		c.Schemes = []string{"paper"}
	}
	return c
}

// Validate checks every value but what the files hold. Errors wrap
// ErrConfig; known lists the schemes that exist.
func (c ReplayConfig) Validate(known []string) error {
	c = c.withDefaults()
	for i, s := range c.Schemes {
		if !slices.Contains(known, s) {
			return fmt.Errorf("%w: unknown scheme %q, want some of %s",
				ErrConfig, s, strings.Join(known, ", "))
		}
		if slices.Contains(c.Schemes[:i], s) {
			return fmt.Errorf("%w: scheme %q is listed twice", ErrConfig, s)
		}
		if c.Transport == "tcp" && s != "tcp" {
			return fmt.Errorf("%w: scheme %q cannot run on transport tcp", ErrConfig, s)
		}
	}
	for _, v := range []struct {
		name            string
		value, min, max int
	}{
		{"query-count", c.QueryCount, 1, maxQueryCount},
		{"objects", c.Objects, 0, maxObjects},
		{"clients", c.Clients, 1, maxClients},
		{"in-flight", c.InFlight, 1, maxInFlight},
		{"client-procs", c.Procs, 1, c.Clients},
	} {
		if v.value < v.min || v.value > v.max {
			return fmt.Errorf("%w: %s is %d, want %d to %d",
				ErrConfig, v.name, v.value, v.min, v.max)
		}
	}
	for _, v := range []struct {
		bad bool
		why string
	}{
		{c.Queries == "", "queries are missing, want a file, QR0 to QR3 or a scale"},
		{c.Data == "" && c.Addr == "", "data is missing, want a file or a generator"},
		{c.Data == "" && c.Verify, "verifying needs the data"},
		{c.Data == "" && c.needsData(), fmt.Sprintf("queries %s are made from the data, which is missing", c.Queries)},
		{c.Bulk && c.Addr != "", "a running server is not bulk loaded: insert, or start it with 'serve --load'"},
		{c.Bulk && c.NoLoad, "bulk and no-load exclude each other"},
		{c.NoLoad && c.Addr == "", "no-load is for a running server"},
		{c.Collection != "default" && c.Addr == "", "a collection is chosen on a running server only"},
		{len(c.Schemes) > 1 && c.Addr != "" && c.Data != "" && !c.NoLoad,
			"several schemes on a running server would insert the data several times: load it first, and set no-load"},
	} {
		if v.bad {
			return fmt.Errorf("%w: %s", ErrConfig, v.why)
		}
	}
	if err := checkTree(c.NodeBytes, c.SlabBytes); err != nil {
		return err
	}
	return checkCores(c.ServerCPUs, c.ClientCPUs)
}

// ErrVerify is wrapped when an answer is not the oracle's.
var ErrVerify = fmt.Errorf("%w from the oracle's", ErrResults)

// ErrNothing: there is nothing to ask.
var ErrNothing = errors.New("bench: no queries")

// sequential reports whether the list is worked off in its order.
func (c ReplayConfig) sequential() bool { return c.Clients*c.InFlight == 1 }

func (c ReplayConfig) loads() bool { return c.Data != "" && !c.NoLoad }

func (c ReplayConfig) loadedBy() string {
	switch {
	case !c.loads():
		return "none"
	case c.Bulk:
		return "bulk"
	}
	return "insert"
}

// serverJob is what the server of one scheme is told.
func (c ReplayConfig) serverJob(scheme string) ServerJob {
	return ServerJob{
		Dataset: c.Data, Objects: c.Objects, Seed: c.Seed,
		Transport: c.Transport, Fabric: c.Fabric, Polling: scheme == "fast-polling",
		NodeBytes: c.NodeBytes, SlabBytes: c.SlabBytes, Empty: !c.Bulk,
	}
}

// replayJob is what client process proc of one scheme is told.
func (c ReplayConfig) replayJob(scheme string, proc int, addr, log, answers string) ReplayJob {
	job := ReplayJob{
		ClientJob: ClientJob{
			Addr: addr, Transport: c.Transport, Fabric: c.Fabric, Policy: scheme,
			Seed: c.Seed, Proc: proc, InFlight: c.InFlight,
			Clients: c.Clients/c.Procs + btoi(proc < c.Clients%c.Procs),
			Dataset: c.Data,
		},
		Objects: c.Objects, Collection: c.Collection, DialTimeout: c.DialTimeout,
		Procs: c.Procs, Queries: log, Answers: answers,
		Insert: proc == 0 && c.loads() && !c.Bulk, Sums: c.Verify, IDs: c.IDs,
	}
	if scheme == "tcp" {
		job.Transport = "tcp"
	}
	return job
}
