package sim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// A key-value service, simulated: threads of clients with one in-flight call
// each, threads of a server, and the cards, links and contention of every
// simulation. No store takes part: KVCosts has the costs of operations.
//
//	Jakiro        client --write--> slot ... thread leaves the answer in a slot
//	              client <--read--- slot     again until it finds it; the rest, if
//	                                         it is longer than the read
//	ServerReply   client --write--> slot ... thread --write--> client
//	HydraDB       the same, and GETs by a kept pointer: client <--read--- item
//
// kv.go has the input, kvrun.go runs the simulation and computes the result,
// kvclient.go and kvserver.go are the two sides, kvsizes.go has values' sizes,
// kvfetch.go the sizes of fetches, kvreplica.go is replication, kvpointers.go are
// kept pointers, kvhosts.go are several servers, kvstages.go two-sided messages and pipelines.

// KVScheme says how a service processes requests and returns answers.
type KVScheme struct {
	Name string
	// Written: the thread writes the answer to the client. Otherwise the client
	// fetches it.
	Written bool
	// Waits: a thread that writes an answer waits for the completion before it
	// takes the next request, as the threads of RFP's table I do.
	Waits bool
	// Inlines, if above 0: threads post answers of more bytes without the lock of the doorbell, so
	// these do not contend (posts.go).
	Inlines int
	// ByClient: a client's requests go to one thread. Otherwise the key decides
	// (EREW).
	ByClient bool
	// Locks: operations hold one lock of the store, see KVCosts.
	Locks bool
	// Events: idle threads sleep, as Catfish's do; otherwise they poll.
	Events bool
	// FallBack: an answer is written after this many fetches that found none; 0: never.
	FallBack int
	// Compares, with FallBack: clients compare fetched with written answers, as Catfish's do.
	Compares bool
	// FetchBytes of a first fetch (RFP's RFS); 0: the client chooses by the sizes
	// that it has seen.
	FetchBytes int
	// Pointers makes clients read items by kept pointers: see kvpointers.go.
	Pointers *KVPointers
	// Secondaries have each PUT when it is answered, as Replication says: see kvreplica.go.
	Secondaries int
	Replication KVReplication
	// TwoSided messages are sent and received; Instances, if not 0, are pipelined, with
	// Dispatchers each: see kvstages.go.
	TwoSided    bool
	Instances   int
	Dispatchers int
}

// KVCosts are what operations cost a thread of the server, beside the
// cluster's costs of polling, waking, posting and bytes.
type KVCosts struct {
	GetNs, PutNs float64
	// Of KVScheme.Locks: how long an operation holds the lock.
	GetLockNs, PutLockNs float64
	// The kernel interrupts each thread TicksPerS times a second, for TickNs.
	TicksPerS, TickNs float64
}

// KVConfig says what RunKV simulates.
type KVConfig struct {
	Cluster *Cluster
	Scheme  KVScheme
	Costs   KVCosts
	Threads int // of each server
	Clients int // threads of clients, spread over the machines
	// Servers are several servers, 0: one. See kvhosts.go.
	Servers int
	// Collocated servers are on the clients' machines, as far as there are as many, and share
	// their cards.
	Collocated bool
	// Place says which thread of all servers has a key, or with KVScheme.ByClient which server;
	// nil: a hash does.
	Place placement.Placer

	GetPercent int
	Keys       uint64
	Dist       ycsb.Dist
	Sizes      KVSizes

	Duration time.Duration // measured
	Warmup   time.Duration
	Seed     uint64
}

// Bytes of messages, as RFP's section IV draws them: a header of arrival or
// done and the size; the key; of values their length; after a request a byte
// that shows that it is complete.
const (
	kvHeaderBytes = 2
	kvLengthBytes = 2
	kvTailBytes   = 1
	// kvSwitchBytes is the size of a request for a written answer. Not in the
	// paper's arXiv version.
	kvSwitchBytes = 8
)

// maxKVThreads is far above what machines have.
const maxKVThreads = 1 << 14

// Validate checks every value. Errors wrap harness.ErrConfig.
func (c *KVConfig) Validate() error {
	if c.Cluster == nil {
		return fmt.Errorf("%w: no cluster", harness.ErrConfig)
	}
	if err := c.Cluster.Validate(); err != nil {
		return err
	}
	if err := cmp.Or(
		harness.CheckRange("server threads", c.Threads, 1, c.Cluster.Server.Cores),
		harness.CheckRange("servers", c.Servers, 0, maxKVServers),
		harness.CheckRange("client threads", c.Clients, 1, maxKVThreads),
		harness.CheckRange("share of GETs in percent", c.GetPercent, 0, 100),
		harness.CheckRange("bytes of a fetch", c.Scheme.FetchBytes, 0, maxMicroBytes),
		harness.CheckRange("bytes that are inlined", c.Scheme.Inlines, 0, maxMicroBytes),
		harness.CheckRange("fetches in vain", c.Scheme.FallBack, 0, 1<<20),
	); err != nil {
		return err
	}
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"get_ns", c.Costs.GetNs}, {"put_ns", c.Costs.PutNs},
		{"get_lock_ns", c.Costs.GetLockNs}, {"put_lock_ns", c.Costs.PutLockNs},
		{"ticks_per_s", c.Costs.TicksPerS}, {"tick_ns", c.Costs.TickNs},
	} {
		// Written so that a NaN is out of range.
		if !(v.value >= 0 && v.value <= 1e7) {
			return fmt.Errorf("%w: %s is %v, want 0 to 1e+07", harness.ErrConfig, v.name, v.value)
		}
	}
	if c.Costs.TicksPerS*c.Costs.TickNs > 5e8 {
		return fmt.Errorf("%w: %v interruptions a second of %v ns each, want at most half of the time",
			harness.ErrConfig, c.Costs.TicksPerS, c.Costs.TickNs)
	}
	if c.Duration < time.Millisecond || c.Duration > maxDuration || c.Warmup < 0 || c.Warmup > maxDuration {
		return fmt.Errorf("%w: duration is %v after %v of warming up, want 1ms to %v after 0 to %v",
			harness.ErrConfig, c.Duration, c.Warmup, maxDuration, maxDuration)
	}
	if err := c.Scheme.validateReplication(c.Threads); err != nil {
		return err
	}
	if err := cmp.Or(c.validateHosts(), c.validateStages()); err != nil {
		return err
	}
	if err := c.Sizes.validate(); err != nil {
		return err
	}
	y := c.ycsb()
	if err := y.Validate(); err != nil {
		return fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	return nil
}

// ycsb is the workload. KVSizes has the lengths of values.
func (c *KVConfig) ycsb() ycsb.Config {
	return ycsb.Config{
		Mix:  ycsb.Mix{ycsb.Read: c.GetPercent, ycsb.Update: 100 - c.GetPercent},
		Dist: c.Dist, Theta: ycsb.Theta, Keys: c.Keys, ValueBytes: 1, Seed: c.Seed,
	}
}

// KVResult is the result of RunKV.
type KVResult struct {
	Calls   uint64
	Mops    float64
	MeanUs  float64
	Latency *latency.Distribution
	Trips   float64 // mean round trips of a call that its client makes
	// Calls with more than two round trips: their share, the fewest and the most
	// that the middle nine tenths of them have, and their median latency.
	Longer            float64
	LongerLow         int
	LongerHigh        int
	LongerUs          float64
	Below7            float64 // share of calls below 7 us
	Written           float64 // share of answers that were written
	ServerPosts       float64 // operations that the server starts, per call
	Busy              float64 // mean share of time that threads serve
	Busiest           float64 // calls of the busiest thread / those of the idlest
	In, Out           float64 // shares of the servers' cards: operations served and link out
	Hits, Dead        float64 // shares of GETs: by a pointer, and with one of an item that was replaced
	FetchBytes        float64 // mean of first fetches
	WastedReads       float64 // reads that found no answer, per call
	Events            uint64
	Simulated, Warmup time.Duration
}

// RunKV simulates. Equal arguments give equal results, on every machine. The
// error is one of Validate's or ctx's cause.
func RunKV(ctx context.Context, cfg KVConfig) (*KVResult, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s, err := newKVSim(&cfg)
	if err != nil {
		return nil, err
	}
	s.run(int64(cfg.Warmup))
	s.reset()
	end := int64(cfg.Warmup + cfg.Duration)
	for i := int64(1); i <= steps; i++ {
		s.run(int64(cfg.Warmup) + int64(cfg.Duration)*i/steps)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("sim: simulated %v of %v: %w",
				time.Duration(s.now), time.Duration(end), context.Cause(ctx))
		}
	}
	return s.result(), nil
}
