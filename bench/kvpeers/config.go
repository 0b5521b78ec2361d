//go:build linux

package kvpeers

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/internal/affinity"
)

// Config is what Run measures.
type Config struct {
	Peers     []string // of Names
	Transport string   // TCP or Unix

	Workload ycsb.Config

	Clients  int // connections
	InFlight int // operations of each
	// Batch, if more than 1, is for read-only mixes: a call is a GetMany of so
	// many keys.
	Batch int

	Warmup, Duration time.Duration // Duration is measured
	Repeat           int

	// Cores of each server; all if there are none. Those of the clients are
	// the caller's to set (affinity.Reexec), and only reported.
	ServerCPUs, ClientCPUs affinity.Set

	Commit string
}

const (
	// maxOutstanding bounds what a wrong number can ask for.
	maxOutstanding = 1 << 16
	// maxValueBytes is half of what memcached takes: an item has a
	// header.
	maxValueBytes = maxMemcachedValue / 2
)

// Validate returns an error that wraps ErrConfig, or the workload's.
func (c *Config) Validate() error {
	if len(c.Peers) == 0 {
		return fmt.Errorf("%w: no peers", ErrConfig)
	}
	for _, name := range c.Peers {
		if _, err := find(name); err != nil {
			return err
		}
	}
	if err := checkTransport(c.Transport); err != nil {
		return err
	}
	if err := c.Workload.Validate(); err != nil {
		return err
	}
	if c.Workload.Mix.Has(ycsb.Scan) {
		return fmt.Errorf("%w: mix %v has scans, which neither Redis's strings nor memcached have", ErrConfig, c.Workload.Mix)
	}
	if v := c.largest(); v > maxValueBytes {
		return fmt.Errorf("%w: values of %d bytes, want up to %d", ErrConfig, v, maxValueBytes)
	}
	if n := c.Clients * c.InFlight; c.Clients < 1 || c.InFlight < 1 || c.Clients > maxOutstanding ||
		c.InFlight > maxOutstanding || n > maxOutstanding {
		return fmt.Errorf("%w: %d clients with %d operations each, want 1 to %d in all",
			ErrConfig, c.Clients, c.InFlight, maxOutstanding)
	}
	if c.Batch < 1 || c.Batch > maxOutstanding {
		return fmt.Errorf("%w: batches of %d, want 1 to %d", ErrConfig, c.Batch, maxOutstanding)
	}
	if c.Batch > 1 && (c.Workload.Mix != ycsb.MixC || c.InFlight != 1) {
		return fmt.Errorf("%w: batches of %d with mix %v and %d in flight, want mix C and 1",
			ErrConfig, c.Batch, c.Workload.Mix, c.InFlight)
	}
	if (len(c.ServerCPUs) == 0) != (len(c.ClientCPUs) == 0) {
		return fmt.Errorf("%w: servers on cores %q, clients on %q, want both or neither: "+
			"servers inherit the clients' cores", ErrConfig, c.ServerCPUs, c.ClientCPUs)
	}
	if c.Warmup < 0 || c.Duration <= 0 || c.Repeat < 1 {
		return fmt.Errorf("%w: warm-up %v, duration %v, repeat %d", ErrConfig, c.Warmup, c.Duration, c.Repeat)
	}
	return nil
}

func (c *Config) largest() int { return max(c.Workload.ValueBytes, c.Workload.LargestValueBytes) }

// bytes bounds what a server holds. An item of memcached has 56 bytes and its
// key beside the value, in a slab of a class at most 1.25 times as large, and
// a hash table's pointer; twice that and a gigabyte are for inserts. It is a
// limit, not taken at once.
func (c *Config) bytes() int64 {
	return int64(c.Workload.Keys)*int64(c.largest()+100)*5/2 + 1<<30
}
