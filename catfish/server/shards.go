package server

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/kv"
)

// shards is what the shards of a collection share. It does not change.
type shards struct {
	seed uint64 // of shardOf; random
	all  []*collection
}

// collectionOf returns the name of a shard's collection.
func collectionOf(shard string) string {
	name, _, _ := strings.Cut(shard, "/")
	return name
}

// parts returns all shards of a collection. It returns only c if the collection is
// not divided, or c is a shard other than the first.
func (c *collection) parts() []*collection {
	if c.shards == nil || c.shard > 0 {
		return []*collection{c}
	}
	return c.shards.all
}

// slots is how many slots of the table a collection takes.
func (n newCollection) slots() int {
	if n.records == nil {
		return 1
	}
	return max(n.records.Shards, 1)
}

// makeShards makes the records of each shard, which gets one of nums.
func (c *collection) makeShards(s *Server, o *model.RecordsOptions, nums []uint32) error {
	if len(nums) > 1 {
		c.shards = &shards{seed: rand.Uint64()}
		c.shards.all = append(c.shards.all, c)
		for i, num := range nums[1:] {
			part := withMemory()
			part.num, part.name, part.shards, part.shard = num, wire.ShardName(c.name, i+1), c.shards, i+1
			c.shards.all = append(c.shards.all, part)
		}
	}
	for _, part := range c.parts() {
		if err := part.makeRecords(s, o, len(nums)); err != nil {
			return err
		}
	}
	return nil
}

// checkShard refuses a write of a key that another shard has.
func (c *collection) checkShard(key []byte) error {
	if c.shards == nil {
		return nil
	}
	if has := wire.ShardOf(c.shards.seed, key, len(c.shards.all)); has != c.shard {
		return fmt.Errorf("%w: shard %d of %q was asked to write a key that shard %d has",
			model.ErrProtocol, c.shard, collectionOf(c.name), has)
	}
	return nil
}

// named lists the collections by name, and of shards only the first.
func (cs *collections) named() []*collection {
	l := cs.all()
	n := 0
	for _, c := range l {
		if c.shard == 0 {
			l[n] = c
			n++
		}
	}
	return l[:n]
}

// shardByName is byName for a name that may be a shard's.
func (cs *collections) shardByName(name string) (*collection, error) {
	of, number, is := strings.Cut(name, "/")
	c, err := cs.byName(of)
	if err != nil || !is {
		return c, err
	}
	i, err := strconv.Atoi(number)
	if err != nil || c.shards == nil || i < 0 || i >= len(c.shards.all) {
		return nil, fmt.Errorf("%w: %q", model.ErrUnknownCollection, name)
	}
	return c.shards.all[i], nil
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
	case c.shards == nil:
	case v.owner > 0 && c.shard%v.s.opts.Workers == v.owner-1:
		c.owned.Add(uint64(n))
	default:
		c.strayed.Add(uint64(n))
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
func (r *RecordShards) Maps() []*kv.Map { return r.maps }

// Of returns the shard that has a key.
func (r *RecordShards) Of(key []byte) *kv.Map { return r.maps[wire.ShardOf(r.seed, key, len(r.maps))] }

// CreateRecordShards adds a collection of records, unless one of that name exists,
// and returns its shards. ErrKind: the existing one is of another kind.
func (s *Server) CreateRecordShards(name string, o model.RecordsOptions) (*RecordShards, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c, err := s.colls.create(name, s, newCollection{records: &o}, nil)
	if err != nil {
		return nil, err
	}
	return c.recordShards(), nil
}

// RecordShards returns the shards of a collection of records.
func (s *Server) RecordShards(name string) (*RecordShards, error) {
	c, err := s.colls.byName(name)
	if err == nil {
		err = c.isOf(model.KindRecords)
	}
	if err != nil {
		return nil, err
	}
	return c.recordShards(), nil
}

func (c *collection) recordShards() *RecordShards {
	r := new(RecordShards)
	if c.shards != nil {
		r.seed = c.shards.seed
	}
	for _, part := range c.parts() {
		r.maps = append(r.maps, part.records)
	}
	return r
}

// single returns the only shard.
func (r *RecordShards) single(name string) (*kv.Map, error) {
	if len(r.maps) > 1 {
		return nil, fmt.Errorf("%w: %q has %d shards, and is no single Map: see RecordShards", model.ErrOption, name, len(r.maps))
	}
	return r.maps[0], nil
}
