package catfish

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/kv"
)

// Shards
//
// The keys of a collection of records may be divided into shards, so that no two workers
// write to the same memory (HydraDB 4.1, Jakiro's EREW):
//
//	           hash of the key by the shards' seed, upper bits
//	cafes      |  0        |  1        |  2        |  3        |   a kv.Map each
//	owners       worker 0    worker 1    worker 0    worker 1      of each transport
//	              \___________________________/
//	client       a connection to worker 0, and one to worker 1 (lanes.go)
//
// A shard is a separate collection of records: a kv.Map in two slabs, with a number,
// and so with separate leases, kept references, uploads and scans. Shard 0 bears the
// collection's name and stands for all shards when collections are listed, counted and
// dropped. The others are opened as "cafes/1", a name that no collection can have.
//
// A separate hash selects the shard of a key: cuckoo.Hash by a seed that the Maps do
// not use, of which shardOf takes the upper bits. With bits of the Maps' own hash
// each shard would use only a part of its buckets.
//
// Clients divide the keys, and send a request about a shard to its owner. Ownership
// only makes it faster: a Map keeps its locks, which the owner finds free, so that
// a request that strays, over a plain socket or another worker's connection, is
// carried out alike. A write to a shard that does not have the key is refused. One
// goroutine does the background work of all shards, every tick (store.EveryTick).

// MaxShards is how many shards a collection may have: as many as a client may have
// collections (DefaultClientCollections), since each shard takes a collection's place.
const MaxShards = DefaultClientCollections

// shards is what the shards of a collection share. It does not change.
type shards struct {
	seed uint64 // of shardOf; random
	all  []*collection
}

// shardOf returns which of n shards has a key. Clients use the same function.
func shardOf(seed uint64, key []byte, n int) int {
	hi, _ := bits.Mul64(cuckoo.Hash(seed, key), uint64(n))
	return int(hi)
}

func shardName(collection string, i int) string {
	if i == 0 {
		return collection
	}
	return collection + "/" + strconv.Itoa(i)
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
func (c *collection) makeShards(s *Server, o *RecordsOptions, nums []uint32) error {
	if len(nums) > 1 {
		c.shards = &shards{seed: rand.Uint64()}
		c.shards.all = append(c.shards.all, c)
		for i, num := range nums[1:] {
			part := withMemory()
			part.num, part.name, part.shards, part.shard = num, shardName(c.name, i+1), c.shards, i+1
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
	if has := shardOf(c.shards.seed, key, len(c.shards.all)); has != c.shard {
		return fmt.Errorf("%w: shard %d of %q was asked to write a key that shard %d has",
			ErrProtocol, c.shard, collectionOf(c.name), has)
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
		return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
	}
	return c.shards.all[i], nil
}

// owners is how many workers of a transport own shards: worker i modulo owners owns
// shard i. 0: each connection has its own worker, or no worker.
func (s *Server) owners(transport string) int {
	if transport == TransportTCP {
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

// ShardStats is the state of a shard.
type ShardStats struct {
	Records int `json:"records"`
	// Owned counts requests about the shard that its owner carried out, Strayed those
	// that plain sockets or other workers carried out.
	Owned   uint64 `json:"owned"`
	Strayed uint64 `json:"strayed"`
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
func (r *RecordShards) Of(key []byte) *kv.Map { return r.maps[shardOf(r.seed, key, len(r.maps))] }

// CreateRecordShards adds a collection of records, unless one of that name exists,
// and returns its shards. ErrKind: the existing one is of another kind.
func (s *Server) CreateRecordShards(name string, o RecordsOptions) (*RecordShards, error) {
	if err := o.validate(); err != nil {
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
		err = c.isOf(KindRecords)
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
		return nil, fmt.Errorf("%w: %q has %d shards, and is no single Map: see RecordShards", ErrOption, name, len(r.maps))
	}
	return r.maps[0], nil
}
