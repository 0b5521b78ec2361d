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
// The keys of a collection of records may be divided, so that no two workers write to
// the same memory (HydraDB 4.1, Jakiro's EREW):
//
//	           hash of the key by the shards' seed, upper bits
//	cafes      |  0        |  1        |  2        |  3        |   a kv.Map each
//	owners       worker 0    worker 1    worker 0    worker 1      of each transport
//	              \___________________________/
//	client       a connection to worker 0, and one to worker 1 (lanes.go)
//
// A shard is a collection of records by itself: a kv.Map in two slabs, with a number,
// and so with leases, kept references, uploads and scans of its own. Shard 0 bears the
// collection's name and stands for all: it is what is listed, counted and dropped.
// The others are opened as "cafes/1", a name that no collection can have.
//
// Which shard has a key is decided by a hash of its own: cuckoo.Hash by a seed that
// the Maps do not use, whose upper bits are taken. With bits of the Maps' own hash
// each shard would have a part of its buckets only.
//
// Clients divide the keys, and send a request about a shard to its owner. The owner
// is a matter of speed: a Map keeps its locks, which the owner finds free, so that
// a request is carried out alike when it strays, over a plain socket or another
// worker's connection. A write to a shard that does not have the key is refused. What
// is done besides requests, every recordsTick, is done by one goroutine for all.

// MaxShards is how many shards a collection may have: as many as a client may have
// collections (DefaultClientCollections), since each takes the place of one.
const MaxShards = DefaultClientCollections

// shards are what those of a collection share. It does not change.
type shards struct {
	seed uint64 // of shardOf; random
	all  []*collection
}

// shardOf is the shard of n that has a key. A client finds the same.
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

// collectionOf is the name of the collection that a shard is of.
func collectionOf(shard string) string {
	name, _, _ := strings.Cut(shard, "/")
	return name
}

// parts are all shards of a collection, or it alone: also if it is a shard other
// than the first.
func (c *collection) parts() []*collection {
	if c.shards == nil || c.shard > 0 {
		return []*collection{c}
	}
	return c.shards.all
}

// slots is how many of the table a collection takes.
func (n newCollection) slots() int {
	if n.records == nil {
		return 1
	}
	return max(n.records.Shards, 1)
}

// makeShards makes the records, with a number for each shard.
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

// named lists the collections by name: of shards the first alone.
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

// owners is how many workers of a transport own shards: shard i is that of worker i
// modulo owners. 0: connections have workers of their own, or none.
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
	// Owned counts requests about it that its owner carried out, Strayed those that
	// others did, over plain sockets or by other workers.
	Owned   uint64 `json:"owned"`
	Strayed uint64 `json:"strayed"`
}

// RecordShards are the shards of a collection, for use in this process concurrently
// with remote clients. One that is not divided has one.
type RecordShards struct {
	seed uint64
	maps []*kv.Map
}

// Maps are all shards, in their order. The Server owns them: do not Close them, nor
// put a key into one that does not have it.
func (r *RecordShards) Maps() []*kv.Map { return r.maps }

// Of is the shard that has a key.
func (r *RecordShards) Of(key []byte) *kv.Map { return r.maps[shardOf(r.seed, key, len(r.maps))] }

// CreateRecordShards adds a collection of records, unless there is one of that name,
// and returns its shards. ErrKind: there is one of another kind.
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

// single is the only one.
func (r *RecordShards) single(name string) (*kv.Map, error) {
	if len(r.maps) > 1 {
		return nil, fmt.Errorf("%w: %q has %d shards, and is no single Map: see RecordShards", ErrOption, name, len(r.maps))
	}
	return r.maps[0], nil
}
