package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Kept pointers of a key-value service, as HydraDB has them (sections 4.2.2 to 4.2.4): a GET
// by message brings a pointer to the item, which all clients of a machine share. The next GET
// of the key reads the item. A PUT makes a new item and marks the old one, so that a client
// which reads it asks by message:
//
//	alive  client <--read--- item
//	dead   client <--read--- item     client --write--> thread --write--> client
//	none                              client --write--> thread --write--> client
//
// Left out: leases, which are longer than what is simulated, and limits of a cache's size.

// Bytes of an item beside its key and value, a guardian word; and of a pointer in an answer:
// address, key of the region, length and lease, a word each.
const (
	kvGuardianBytes = 8
	kvPointerBytes  = 32
)

// maxKVPointers limits the memory of a simulation: 4 bytes for each key and machine.
const maxKVPointers = 1 << 28

// KVPointers are the pointers that machines keep, and how often each key was written. RunKV
// does not change those of its configuration.
type KVPointers struct {
	written []uint32   // by number of a key
	kept    [][]uint32 // by machine and key: written when its pointer was made, and one more; 0: none
}

// NewKVPointers returns those of a run of cfg after that many calls, which take no time. Only
// the workload and the number of machines count.
func NewKVPointers(ctx context.Context, cfg KVConfig, calls int) (*KVPointers, error) {
	cfg.Scheme.Pointers = nil
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	machines := min(cfg.Cluster.Client.Machines, cfg.Clients)
	if cfg.Keys > maxKVPointers/uint64(machines) {
		return nil, fmt.Errorf("%w: %d keys and %d machines, want at most %d of both multiplied", harness.ErrConfig, cfg.Keys, machines, maxKVPointers)
	}
	p := &KVPointers{written: make([]uint32, cfg.Keys)}
	for range machines {
		p.kept = append(p.kept, make([]uint32, cfg.Keys))
	}
	y := cfg.ycsb()
	y.Seed++ // Not the calls that RunKV simulates.
	var clients []*ycsb.Ops
	for i := range machines {
		ops, err := y.Ops(i)
		if err != nil {
			return nil, err
		}
		clients = append(clients, ops)
	}
	for i := range calls {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("sim: call %d of %d before the simulated ones: %w", i, calls, context.Cause(ctx))
		}
		op := clients[i%machines].Next()
		p.called(i%machines, uint32(op.Number), op.Kind == ycsb.Read)
	}
	return p, nil
}

func (p *KVPointers) called(machine int, key uint32, get bool) {
	if get {
		p.kept[machine][key] = p.written[key] + 1
	} else {
		p.written[key]++
	}
}

// clone copies them for one run.
func (p *KVPointers) clone() *KVPointers {
	c := &KVPointers{written: slices.Clone(p.written)}
	for _, k := range p.kept {
		c.kept = append(c.kept, slices.Clone(k))
	}
	return c
}

// fits returns an error if these are of another workload.
func (p *KVPointers) fits(c *KVConfig) error {
	if machines := min(c.Cluster.Client.Machines, c.Clients); uint64(len(p.written)) != c.Keys || len(p.kept) != machines {
		return fmt.Errorf("%w: pointers to %d keys of %d machines, want %d and %d", harness.ErrConfig, len(p.written), len(p.kept), c.Keys, machines)
	}
	return nil
}

// points reports whether a call that begins has a pointer.
func (s *kvSim) points(c *kvClient, key uint64) bool {
	if s.pointers == nil {
		return false
	}
	c.key, c.pointer, c.pointerBytes = uint32(key), 0, kvPointerBytes
	if !c.get {
		return false
	}
	s.n.gets++
	c.pointer = s.pointers.kept[c.machine][c.key]
	return c.pointer > 0
}

func (c *kvClient) itemBytes() int { return ycsb.KeyBytes + c.value + kvGuardianBytes }

// alive reports whether the item that a client reads was not replaced.
func (s *kvSim) alive(c *kvClient) bool { return c.pointer == s.pointers.written[c.key]+1 }

// itemRead ends a GET whose item is alive; else the client asks by message.
func (s *kvSim) itemRead(id uint32) {
	c := &s.clients[id]
	if c.sampled {
		s.n.hits++
		c.sampled = false
		s.finish(id)
		return
	}
	s.n.dead++
	s.post(id, kvRequesting)
}

// keep takes note of a request that a thread has done: a GET's answer has a pointer. The
// client's machine has it when the answer comes.
func (s *kvSim) keep(c *kvClient) {
	if s.pointers == nil {
		return
	}
	if !c.get {
		s.pointers.written[c.key]++
	}
	c.pointer = s.pointers.written[c.key] + 1
}

// kept ends a GET: its machine keeps the pointer, unless it has a newer one.
func (s *kvSim) kept(c *kvClient) {
	if s.pointers != nil && c.get {
		k := &s.pointers.kept[c.machine][c.key]
		*k = max(*k, c.pointer)
	}
}
