package replay

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/rstar"
)

// Config says what Run does. Zero values are replaced by the
// defaults that the fields give.
type Config struct {
	Schemes []string // each on a fresh server, unless there is Addr; DefaultSchemes
	// Data is what package datasets opens; empty: nothing, which needs
	// Addr. Objects and Seed are for generators.
	Data    string
	Objects int
	Seed    uint64
	// Queries is a log of queries, QR0 to QR3 or 50-150 (of Data), a scale (within
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
	Force       bool          // insert Data into a collection that has objects

	Clients   int    // connections, over all processes; 8
	InFlight  int    // in-flight calls per connection; 16
	Procs     int    // client processes; 1
	Transport string // auto
	Fabric    bench.Fabric

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned

	NodeBytes int   // 0: the tree's default
	SlabBytes int64 // 0: the tree's default

	Strategy rstar.Strategy // of the tree; Revised; not with Addr
	Backoff  policy.Backoff // of paper and paper-literal; the paper's

	Verify bool // compare all answers with those of another index
	IDs    bool // write the ids found to the results

	Commit string
}

const (
	defaultQueryCount = 10_000 // the paper, section V-A
	// maxQueryCount, like the other limits, is against typing errors.
	maxQueryCount = 1 << 31
)

// DefaultSchemes are the paper's policy and the default one; the latter alone
// on a running server, where the data can be inserted only once.
func DefaultSchemes(addr string) []string {
	if addr != "" {
		return []string{policy.Default}
	}
	return []string{"paper", policy.Default}
}

func (c Config) withDefaults() Config {
	c.QueryCount = cmp.Or(c.QueryCount, defaultQueryCount)
	c.Collection = cmp.Or(c.Collection, catfish.DefaultCollection)
	c.Clients = cmp.Or(c.Clients, 8)
	c.InFlight = cmp.Or(c.InFlight, 16)
	c.Procs = cmp.Or(c.Procs, 1)
	c.Transport = cmp.Or(c.Transport, "auto")
	if len(c.Schemes) == 0 {
		c.Schemes = DefaultSchemes(c.Addr)
	}
	return c
}

// Validate checks every value except the contents of files. Errors wrap
// harness.ErrConfig; known lists the schemes that exist.
func (c Config) Validate(known []string) error {
	c = c.withDefaults()
	// Checks of both kinds of runs.
	if err := (bench.Config{
		Schemes: c.Schemes, Objects: c.Objects, Clients: c.Clients, InFlight: c.InFlight,
		Procs: c.Procs, Transport: c.Transport, NodeBytes: c.NodeBytes, SlabBytes: c.SlabBytes,
		Strategy: c.Strategy, Backoff: c.Backoff,
		ServerCPUs: c.ServerCPUs, ClientCPUs: c.ClientCPUs,
	}).Validate(known); err != nil {
		return err
	}
	if c.QueryCount < 1 || c.QueryCount > maxQueryCount {
		return fmt.Errorf("%w: query-count is %d, want 1 to %d", harness.ErrConfig, c.QueryCount, maxQueryCount)
	}
	for _, v := range []struct {
		bad bool
		why string
	}{
		{c.Queries == "", "queries are missing, want a file, QR0 to QR3, 50-150 or a scale"},
		{c.Data == "" && c.Addr == "", "data is missing, want a file or a generator"},
		{c.Data == "" && c.Verify, "verifying needs the data"},
		{c.Data == "" && c.needsData(), fmt.Sprintf("queries %s are made from the data, which is missing", c.Queries)},
		{c.Bulk && c.Addr != "", "a running server is not bulk loaded: insert, or start it with 'serve --load'"},
		{c.Bulk && c.NoLoad, "bulk and no-load exclude each other"},
		{c.NoLoad && c.Addr == "", "no-load is for a running server"},
		{c.NoLoad && c.Data == "", "no-load does nothing without data"},
		{c.Force && (c.Addr == "" || !c.loads()), "force is for data that is inserted into a running server"},
		{c.Strategy != rstar.Revised && c.Addr != "", "a running server has its strategy: start it with 'serve --strategy'"},
		{c.Collection != catfish.DefaultCollection && c.Addr == "", "a collection is chosen on a running server only"},
		{len(c.Schemes) > 1 && c.Addr != "" && c.Data != "" && !c.NoLoad,
			"several schemes on a running server would insert the data several times: load it first, and set no-load"},
	} {
		if v.bad {
			return fmt.Errorf("%w: %s", harness.ErrConfig, v.why)
		}
	}
	return nil
}

// ErrVerify is wrapped when an answer is not the oracle's.
var ErrVerify = fmt.Errorf("%w from the oracle's", bench.ErrResults)

// ErrNothing: the list has no requests.
var ErrNothing = errors.New("replay: no queries")

// ErrNotEmpty: the running server's collection has objects already, and
// Config.Force is not set. Nothing was inserted. It crosses a process, so
// callers of Run see its text only.
var ErrNotEmpty = errors.New("replay: collection not empty")

// sequential reports whether the list is executed in order.
func (c Config) sequential() bool { return c.Clients*c.InFlight == 1 }

func (c Config) loads() bool { return c.Data != "" && !c.NoLoad }

func (c Config) loadedBy() string {
	switch {
	case !c.loads():
		return "none"
	case c.Bulk:
		return "bulk"
	}
	return "insert"
}

// serverJob is the job of the server of one scheme.
func (c Config) serverJob() bench.ServerJob {
	return bench.ServerJob{
		Dataset: c.Data, Objects: c.Objects, Seed: c.Seed,
		Transport: c.Transport, Fabric: c.Fabric,
		NodeBytes: c.NodeBytes, SlabBytes: c.SlabBytes, Strategy: c.Strategy, Empty: !c.Bulk,
	}
}

// clientJob is the job of client process proc of one scheme.
func (c Config) clientJob(scheme string, proc int, addr, log, answers string) Job {
	job := Job{
		ClientJob: bench.ClientJob{
			Addr: addr, Transport: c.Transport, Fabric: c.Fabric, Policy: scheme, Backoff: c.Backoff,
			Seed: c.Seed, Proc: proc, InFlight: c.InFlight,
			Clients: (c.Clients + c.Procs - 1 - proc) / c.Procs,
			Dataset: c.Data,
		},
		Objects: c.Objects, Collection: c.Collection, DialTimeout: c.DialTimeout,
		Procs: c.Procs, Queries: log, Answers: answers,
		Insert: proc == 0 && c.loads() && !c.Bulk, Force: c.Force, Sums: c.Verify, IDs: c.IDs,
	}
	if scheme == "tcp" {
		job.Transport = "tcp"
	}
	return job
}
