package server

import (
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// collectionOf returns the name of a shard's collection.
func collectionOf(shard string) string {
	name, _, _ := strings.Cut(shard, "/")
	return name
}

// checkShard refuses a write of a key that another shard has.
func checkShard(c *collection, key []byte) error {
	if c.Shards == nil {
		return nil
	}
	if has := wire.ShardOf(c.Shards.Seed, key, len(c.Shards.All)); has != c.Shard {
		return fmt.Errorf("%w: shard %d of %q was asked to write a key that shard %d has",
			model.ErrProtocol, c.Shard, collectionOf(c.Name), has)
	}
	return nil
}

// owners is how many workers of a transport own shards: worker i modulo owners owns
// shard i. 0: each connection has its own worker, or no worker.
func (s *Server) owners(transport string) int {
	if transport == model.TransportTCP {
		return 0
	}
	return s.opts.Workers
}

// touches counts requests about a shard.
func (v *service) touches(c *collection, n int) {
	switch {
	case c.Shards == nil:
	case v.owner > 0 && c.Shard%v.s.opts.Workers == v.owner-1:
		attachedTo(c).owned.Add(uint64(n))
	default:
		attachedTo(c).strayed.Add(uint64(n))
	}
}

// RecordShards are the shards of a collection, for use in this process concurrently
// with remote clients. A collection that is not divided has one.
type RecordShards struct {
	seed uint64
	maps []*kv.Map
}

// Maps returns all shards, in order. The Server owns them: do not Close them, nor
// put a key into the wrong one.
func (r *RecordShards) Maps() []*Map { return r.maps }

// Of returns the shard that has a key.
func (r *RecordShards) Of(key []byte) *Map { return r.maps[wire.ShardOf(r.seed, key, len(r.maps))] }

// CreateRecordShards adds a collection of records, unless one of that name exists,
// and returns its shards. ErrKind: the existing one is of another kind. ErrNotPermitted:
// it is kept; use CreateKeptRecords.
func (s *Server) CreateRecordShards(name string, o model.RecordsOptions) (*RecordShards, error) {
	if o.Keep || s.opts.member.on {
		return nil, errKept(name)
	}
	c, err := s.createRecords(name, o)
	if err != nil {
		return nil, err
	}
	return recordShards(c)
}

func (s *Server) createRecords(name string, o model.RecordsOptions) (*collection, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	spec, err := s.recordsSpec(o)
	if err != nil {
		return nil, err
	}
	return s.create(name, spec)
}

// RecordShards returns the shards of a collection of records. ErrNotPermitted: it is kept;
// use KeptRecords.
func (s *Server) RecordShards(name string) (*RecordShards, error) {
	c, err := s.store.Of(name, store.KindRecords)
	if err != nil {
		return nil, err
	}
	return recordShards(c)
}

// recordShards are those that the server's owner may write. The store would not learn of
// writes to kept ones.
func recordShards(c *collection) (*RecordShards, error) {
	if c.Kept != nil {
		return nil, errKept(c.Name)
	}
	r := new(RecordShards)
	if c.Shards != nil {
		r.seed = c.Shards.Seed
	}
	for _, part := range c.Parts() {
		r.maps = append(r.maps, part.Records)
	}
	return r, nil
}

// single returns the only shard.
func (r *RecordShards) single(name string) (*Map, error) {
	if len(r.maps) > 1 {
		return nil, fmt.Errorf("%w: %q has %d shards, and is no single Map: see RecordShards", model.ErrOption, name, len(r.maps))
	}
	return r.maps[0], nil
}
