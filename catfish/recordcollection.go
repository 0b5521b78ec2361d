package catfish

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store"
)

// A collection of records is a kv.Map in two slabs, so that either grows without
// the other:
//
//	index     | header | stash | tables ...                     cuckoo
//	records   | header | span | span | ...                      record
//
// Clients read both; Server.tidyRecords does the background work.

// RecordsOptions configure a collection of records. The zero value is good.
type RecordsOptions struct {
	// Table is how the key index makes room: cuckoo.GCuckoo, or
	// cuckoo.Conventional to compare with.
	Table cuckoo.Kind `json:"table"`
	// Items is how many items a bucket of the key index has, 1 to
	// cuckoo.MaxItems, 0: that. The paper's table (RHKV) has one.
	Items int `json:"items,omitempty"`
	// Shards, up to MaxShards, divide the keys (shards.go). 0, 1: not divided.
	Shards int `json:"shards,omitempty"`
}

func (o *RecordsOptions) validate() error {
	if o.Table != cuckoo.GCuckoo && o.Table != cuckoo.Conventional {
		return fmt.Errorf("%w: key index of kind %v, want %v or %v: clients cannot read others",
			ErrOption, o.Table, cuckoo.GCuckoo, cuckoo.Conventional)
	}
	if o.Items < 0 || o.Items > cuckoo.MaxItems {
		return fmt.Errorf("%w: %d items a bucket, want 1 to %d", ErrOption, o.Items, cuckoo.MaxItems)
	}
	if o.Shards < 0 || o.Shards > MaxShards {
		return fmt.Errorf("%w: %d shards, want 0 to %d", ErrOption, o.Shards, MaxShards)
	}
	return nil
}

// hasOptions returns store.ErrCollectionExists if the collection has another number of
// shards than want. 0 accepts any number: the caller wants the collection as it is.
func (c *collection) hasOptions(want *RecordsOptions) error {
	if has := len(c.parts()); want.Shards > 0 && want.Shards != has {
		return fmt.Errorf("%w: %q has %d shards, not %d", store.ErrCollectionExists, c.name, has, want.Shards)
	}
	return nil
}

// RecordsStats is the state of a collection of records.
type RecordsStats struct {
	kv.Stats
	Load      float64 `json:"load"` // of the key index, 0..1
	UsedBytes int64   `json:"used_bytes"`
	SlabBytes int64   `json:"slab_bytes"` // limit for the records; for the keys it is the same again
	// Shards are those of a divided collection. The other fields are sums over them
	// (the revision is the latest).
	Shards []ShardStats `json:"shards,omitempty"`
}

func (c *collection) recordsStats() (r RecordsStats) {
	for _, part := range c.parts() {
		s := part.records.Stats()
		r.Add(s)
		r.UsedBytes += int64(s.Records.SpanBytes) + int64(s.Index.Bytes)
		r.SlabBytes += int64(len(part.recordSlab().mem))
		if c.shards != nil {
			r.Shards = append(r.Shards, ShardStats{s.Index.Items, part.owned.Load(), part.strayed.Load()})
		}
	}
	if r.Index.Capacity > 0 {
		r.Load = r.Index.Load()
	}
	return r
}

// recordSlab returns the memory of the records.
func (c *collection) recordSlab() *slabMemory {
	if c.features != nil {
		return c.heap
	}
	return c.slab
}

// tidy does up to pieces pieces of the background work.
func (c *collection) tidy(pieces int) (more bool) {
	if c.features != nil {
		return c.features.Tidy(pieces)
	}
	return c.records.Tidy(pieces)
}

// leastShard is one span of records, and the first span, which has none.
const leastShard = 2 * record.SpanBytes

// makeRecords makes the records, in slabs of one of shares equal parts of SlabBytes.
func (c *collection) makeRecords(s *Server, o *RecordsOptions, shares int) error {
	bytes := min(s.opts.SlabBytes/int64(shares), record.MaxSlabBytes) / record.SpanBytes * record.SpanBytes
	if bytes < leastShard && shares > 1 {
		return fmt.Errorf("%w: %d shards of %d bytes (--slab-bytes) are %d each, want at least %d",
			ErrOption, shares, s.opts.SlabBytes, bytes, leastShard)
	}
	if err := c.slab.make(s.fabrics, c.name, bytes, s.opts.firstPinned); err != nil {
		return err
	}
	c.index.doubles = true
	if err := c.index.make(s.fabrics, c.name+" (keys)", bytes, s.opts.firstPinned); err != nil {
		return err
	}
	boot := rand.Uint64()
	opts := kv.Options{
		Index: c.index.mem, Records: c.slab.mem, Boot: boot, Seed: rand.Uint64(),
		Table: o.Table, Items: o.Items, Now: s.now, Revision: firstRevision(s.now()),
		GrowIndex: c.index.grower(), GrowRecords: c.slab.grower(),
	}
	if opts.GrowRecords == nil {
		// Pinned memory cannot be given back.
		opts.GiveBack = mapped.GiveBack
	}
	var err error
	c.records, err = kv.New(opts)
	return err
}

// firstRevision of a collection that is made now is above any revision of a collection
// made before, unless that one had 3.9 M writes a second all its life. It is exact as
// a float64 until 2043.
func firstRevision(now time.Duration) uint64 { return uint64(now) >> 8 }

// now is the time by which records expire, since the Unix epoch. It does not
// follow the system's clock when that is set.
func (s *Server) now() time.Duration {
	if s.opts.now != nil {
		return s.opts.now()
	}
	return time.Duration(s.started.UnixNano()) + time.Since(s.started)
}

// CreateRecords adds a collection of records, unless one of that name exists,
// and returns it, for use in this process concurrently with remote clients. The
// Server owns it: do not Close it. ErrKind: the existing one is of another kind.
// ErrOption: it is divided; use CreateRecordShards.
func (s *Server) CreateRecords(name string, o RecordsOptions) (*kv.Map, error) {
	if o.Shards > 1 {
		return nil, fmt.Errorf("%w: %d shards of %q are no single Map: see CreateRecordShards", ErrOption, o.Shards, name)
	}
	l, err := s.CreateRecordShards(name, o)
	if err != nil {
		return nil, err
	}
	return l.single(name)
}

// Records returns a collection of records, as CreateRecords does. ErrOption: it is
// divided; use RecordShards.
func (s *Server) Records(name string) (*kv.Map, error) {
	l, err := s.RecordShards(name)
	if err != nil {
		return nil, err
	}
	return l.single(name)
}

// tidyRecords frees what records leave behind, until ctx is done.
func (s *Server) tidyRecords(ctx context.Context) error {
	store.EveryTick(ctx, func(turn int) {
		s.uploads.expire(s.now())
		if turn%watchSweep == 0 {
			s.watchSets.expire(s.now())
		}
		all := slices.DeleteFunc(s.colls.all(), func(c *collection) bool { return c.records == nil })
		store.TidyInTurn(all, turn, (*collection).tidy)
	})
	return nil
}
