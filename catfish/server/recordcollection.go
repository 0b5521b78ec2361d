package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store"
)

// hasOptions returns store.ErrCollectionExists if the collection has another number of
// shards than want. 0 accepts any number: the caller wants the collection as it is.
func (c *collection) hasOptions(want *model.RecordsOptions) error {
	if has := len(c.parts()); want.Shards > 0 && want.Shards != has {
		return fmt.Errorf("%w: %q has %d shards, not %d", store.ErrCollectionExists, c.name, has, want.Shards)
	}
	return nil
}

func (c *collection) recordsStats() (r model.RecordsStats) {
	for _, part := range c.parts() {
		s := part.records.Stats()
		r.Add(s)
		r.UsedBytes += int64(s.Records.SpanBytes) + int64(s.Index.Bytes)
		r.SlabBytes += int64(len(part.recordSlab().mem))
		if c.shards != nil {
			r.Shards = append(r.Shards, model.ShardStats{Records: s.Index.Items, Owned: part.owned.Load(), Strayed: part.strayed.Load()})
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
func (c *collection) makeRecords(s *Server, o *model.RecordsOptions, shares int) error {
	bytes := min(s.opts.SlabBytes/int64(shares), record.MaxSlabBytes) / record.SpanBytes * record.SpanBytes
	if bytes < leastShard && shares > 1 {
		return fmt.Errorf("%w: %d shards of %d bytes (--slab-bytes) are %d each, want at least %d",
			model.ErrOption, shares, s.opts.SlabBytes, bytes, leastShard)
	}
	if err := c.slab.make(s.fabrics, c.name, bytes, s.opts.hooks.FirstPinned); err != nil {
		return err
	}
	c.index.doubles = true
	if err := c.index.make(s.fabrics, c.name+" (keys)", bytes, s.opts.hooks.FirstPinned); err != nil {
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
	if s.opts.hooks.Now != nil {
		return s.opts.hooks.Now()
	}
	return time.Duration(s.started.UnixNano()) + time.Since(s.started)
}

// CreateRecords adds a collection of records, unless one of that name exists,
// and returns it, for use in this process concurrently with remote clients. The
// Server owns it: do not Close it. ErrKind: the existing one is of another kind.
// ErrOption: it is divided; use CreateRecordShards.
func (s *Server) CreateRecords(name string, o model.RecordsOptions) (*kv.Map, error) {
	if o.Shards > 1 {
		return nil, fmt.Errorf("%w: %d shards of %q are no single Map: see CreateRecordShards", model.ErrOption, o.Shards, name)
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
