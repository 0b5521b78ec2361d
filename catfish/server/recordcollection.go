package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
)

func recordsStats(c *collection) (r model.RecordsStats) {
	for _, part := range c.Parts() {
		s := part.Records.Stats()
		r.Add(s)
		r.UsedBytes += int64(s.Records.SpanBytes) + int64(s.Index.Bytes)
		r.SlabBytes += int64(len(part.Memory[store.RecordsPart].Bytes))
		if c.Shards != nil {
			at := attachedTo(part)
			r.Shards = append(r.Shards, model.ShardStats{Records: s.Index.Items, Owned: at.owned.Load(), Strayed: at.strayed.Load()})
		}
	}
	if r.Index.Capacity > 0 {
		r.Load = r.Index.Load()
	}
	return r
}

// leastShard is one span of records, and the first span, which has none.
const leastShard = 2 * record.SpanBytes

// recordsSpec is the spec of a collection of records. Shards share what one collection may
// have.
func (s *Server) recordsSpec(o model.RecordsOptions) (store.Spec, error) {
	spec := store.Spec{Kind: store.KindRecords, Keep: o.Keep, Records: store.RecordsOptions{Table: o.Table, Items: o.Items, Shards: o.Shards, MaxBytes: o.MaxBytes}}
	return spec, checkRecords(&o, s.opts.SlabBytes)
}

// checkRecords compares options with the memory that a collection may have. A cache has half
// of it: the other half is for the dead records of a second, or of their leases.
func checkRecords(o *model.RecordsOptions, slabBytes int64) error {
	n := o.Shards
	if o.MaxBytes > slabBytes/2 {
		return fmt.Errorf("%w: a cache of %d bytes, want at most %d, half of %d (--slab-bytes)", model.ErrOption, o.MaxBytes, slabBytes/2, slabBytes)
	}
	if n > 1 && slabBytes/int64(n) < leastShard {
		return fmt.Errorf("%w: %d shards of %d bytes (--slab-bytes) are %d each, want at least %d",
			model.ErrOption, n, slabBytes, slabBytes/int64(n), leastShard)
	}
	return nil
}

// CreateRecords adds a collection of records, unless one of that name exists,
// and returns it, for use in this process concurrently with remote clients. The
// Server owns it: do not Close it. ErrKind: the existing one is of another kind.
// ErrOption: it is divided; use CreateRecordShards. ErrNotPermitted: it is kept; use
// CreateKeptRecords.
func (s *Server) CreateRecords(name string, o model.RecordsOptions) (*Map, error) {
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
// divided; use RecordShards. ErrNotPermitted: it is kept; use KeptRecords.
func (s *Server) Records(name string) (*Map, error) {
	l, err := s.RecordShards(name)
	if err != nil {
		return nil, err
	}
	return l.single(name)
}
