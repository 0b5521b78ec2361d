package catfish

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
)

// A collection of records is a kv.Map in two slabs, so that either grows without
// the other:
//
//	index     | header | stash | tables ...                     cuckoo
//	records   | header | span | span | ...                      record
//
// Clients read both; Server.tidyRecords does what is to be done besides requests.

// RecordsOptions configure a collection of records. The zero value is good.
type RecordsOptions struct {
	// Table is how the key index makes room: cuckoo.GCuckoo, or
	// cuckoo.Conventional to compare with.
	Table cuckoo.Kind `json:"table"`
	// Items is how many items a bucket of the key index has, 1 to
	// cuckoo.MaxItems, 0: that. The paper's table (RHKV) has one.
	Items int `json:"items,omitempty"`
}

func (o *RecordsOptions) validate() error {
	if o.Table != cuckoo.GCuckoo && o.Table != cuckoo.Conventional {
		return fmt.Errorf("%w: key index of kind %v, want %v or %v: clients cannot read others",
			ErrOption, o.Table, cuckoo.GCuckoo, cuckoo.Conventional)
	}
	if o.Items < 0 || o.Items > cuckoo.MaxItems {
		return fmt.Errorf("%w: %d items a bucket, want 1 to %d", ErrOption, o.Items, cuckoo.MaxItems)
	}
	return nil
}

// RecordsStats is the state of a collection of records.
type RecordsStats struct {
	kv.Stats
	Load      float64 `json:"load"` // of the key index, 0..1
	UsedBytes int64   `json:"used_bytes"`
	SlabBytes int64   `json:"slab_bytes"` // most of records, and as much again of keys
}

func (c *collection) recordsStats() RecordsStats {
	s := c.records.Stats()
	r := RecordsStats{Stats: s, UsedBytes: int64(s.Records.SpanBytes) + int64(s.Index.Bytes), SlabBytes: int64(len(c.recordSlab().mem))}
	if s.Index.Capacity > 0 {
		r.Load = s.Index.Load()
	}
	return r
}

// recordSlab has the records.
func (c *collection) recordSlab() *slabMemory {
	if c.features != nil {
		return &c.heap
	}
	return &c.slab
}

// tidy does so many pieces of what is to be done besides requests.
func (c *collection) tidy(pieces int) (more bool) {
	if c.features != nil {
		return c.features.Tidy(pieces)
	}
	return c.records.Tidy(pieces)
}

func (c *collection) makeRecords(s *Server, o *RecordsOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	bytes := min(s.opts.SlabBytes, record.MaxSlabBytes) / record.SpanBytes * record.SpanBytes
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
		// What is pinned cannot be given back.
		opts.GiveBack = mapped.GiveBack
	}
	var err error
	c.records, err = kv.New(opts)
	return err
}

// firstRevision of a collection that is made now is above any of one that was made
// before, unless that had 3.9 M writes a second all its life. It is exact as a
// float64 until 2043.
func firstRevision(now time.Duration) uint64 { return uint64(now) >> 8 }

// now is the time by which records expire, since the Unix epoch. It does not
// follow the system's clock when that is set.
func (s *Server) now() time.Duration {
	if s.opts.now != nil {
		return s.opts.now()
	}
	return time.Duration(s.started.UnixNano()) + time.Since(s.started)
}

// CreateRecords adds a collection of records, unless there is one of that name,
// and returns it, for use in this process concurrently with remote clients. The
// Server owns it: do not Close it. ErrKind: there is one of another kind.
func (s *Server) CreateRecords(name string, o RecordsOptions) (*kv.Map, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	c, err := s.colls.create(name, s, newCollection{records: &o}, nil)
	if err != nil {
		return nil, err
	}
	return c.records, nil
}

// Records returns a collection of records, as CreateRecords does.
func (s *Server) Records(name string) (*kv.Map, error) {
	c, err := s.colls.byName(name)
	if err == nil {
		err = c.isOf(KindRecords)
	}
	if err != nil {
		return nil, err
	}
	return c.records, nil
}

const (
	// recordsTick is how often collections of records are tidied, for up to
	// tidyTime in all: a tenth of the time of a processor. Places of dead records
	// are reused after a second, so this is soon enough; and each write tidies
	// up after itself.
	recordsTick = 10 * time.Millisecond
	tidyTime    = time.Millisecond
	// tidyPieces is what is done of a collection before others get its lock, and
	// the processor: 20 us.
	tidyPieces = 64
)

// tidyRecords frees what records leave behind, until ctx is done.
func (s *Server) tidyRecords(ctx context.Context) error {
	tick := time.NewTicker(recordsTick)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		s.uploads.expire(s.now())
		// Each collection gets its first pieces, and those that begin in turn
		// what is left of the time.
		all := slices.DeleteFunc(s.colls.all(), func(c *collection) bool { return c.records == nil })
		for i, begun := 0, time.Now(); i < len(all); i++ {
			for c := all[(turn+i)%len(all)]; c.tidy(tidyPieces) && time.Since(begun) < tidyTime; {
				runtime.Gosched()
			}
		}
	}
}
