package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// Shards, at the client
//
// A session opens a divided collection by its name, and learns the seed and the number
// of shards; it opens each other shard when it meets a key of that shard. A collection
// that was dropped and created again has another seed. So a shard with another seed
// does not belong to the collection, which then is opened again.

// openShard is a shard as a session knows it.
type openShard struct {
	wire.ShardAt
	owner int // the worker that owns it, -1: no worker does, or any connection leads to it
	// others are the shards by number, in shard 0 only; nil: the shard is not open.
	others []atomic.Pointer[openSlab]
}

func (s *session) newShard(at wire.ShardAt) *openShard {
	if at.Of == 0 {
		return nil
	}
	p := &openShard{ShardAt: at, owner: -1}
	if at.Workers > 1 && s.dev != nil { // A single worker also serves s.caller.
		p.owner = at.Number % at.Workers
	}
	if at.Number == 0 {
		p.others = make([]atomic.Pointer[openSlab], at.Of)
	}
	return p
}

// shards is the number of shards of the collection, 1: it is not divided.
func (o *openSlab) shards() int {
	if o.part == nil {
		return 1
	}
	return o.part.Of
}

// shard opens shard i of o. ErrUnknownCollection: o was dropped; forget it.
func (s *session) shard(ctx context.Context, o *openSlab, i int) (*openSlab, error) {
	if i == 0 {
		return o, nil
	}
	p := o.part
	if k := p.others[i].Load(); k != nil && !k.outgrown.Load() {
		return k, nil
	}
	k, err := s.open(ctx, wire.ShardName(o.name, i))
	if err != nil {
		return nil, err
	}
	if k.part == nil || k.part.Seed != p.Seed || k.part.Of != p.Of || k.part.Number != i {
		s.forget(k)
		return nil, fmt.Errorf("%w: %q was dropped; there is another", model.ErrUnknownCollection, o.name)
	}
	p.others[i].Store(k)
	return k, nil
}

// shardOf opens the shard that has a key.
func (s *session) shardOf(ctx context.Context, o *openSlab, key []byte) (*openSlab, error) {
	if o.part == nil {
		return o, nil
	}
	return s.shard(ctx, o, wire.ShardOf(o.part.Seed, key, o.part.Of))
}

// openShard opens the shard of a collection of records that has a key. It repeats
// that, up to maxLost times, while the collection is another one each time.
func (w *putQuery) openShard(s *session) (*openSlab, error) {
	for again := 1; ; again++ {
		o, err := s.openKind(w.ctx, w.c.collection, ofRecords, w.kind)
		if err == nil {
			var k *openSlab
			if k, err = s.shardOf(w.ctx, o, w.rec.Key); err == nil {
				return k, nil
			}
		}
		if !errors.Is(err, model.ErrUnknownCollection) || o == nil || again == maxLost {
			return o, err
		}
		s.forget(o)
	}
}

// removeShards deletes o, and the other shards of its collection, from the session. The
// caller holds mu.
func (s *session) removeShards(o *openSlab) (l []*openSlab) {
	for name, k := range s.slabs {
		if k == o || o.part != nil && k.part != nil && k.part.Seed == o.part.Seed {
			delete(s.slabs, name)
			l = append(l, k)
		}
	}
	return l
}

// shardedGet is the state of a GetMany of a divided collection: a Get of each shard,
// which all run at once.
type shardedGet struct {
	of    []*getQuery // by shard, nil: the shard has none of the keys
	under sync.WaitGroup
}

// shardGet is the Get of one shard in a shardedGet.
type shardGet struct {
	ctx  context.Context
	c    *Client
	s    *session
	of   *getQuery
	err  error
	work func() // made once: a method value allocates

	at      []int // index of each key among all keys
	keys    [][]byte
	records []model.Record
}

func (g *getQuery) work() {
	p := &g.part
	p.err = g.onceOpen(p.ctx, p.c, p.s)
	p.of.sharded.under.Done()
}

// byShard is onceOpen for a divided collection.
func (g *getQuery) byShard(ctx context.Context, c *Client, s *session) (err error) {
	o := g.open
	if len(g.keys) == 1 {
		k, err := s.shardOf(ctx, o, g.keys[0])
		if err != nil {
			return err
		}
		g.open = k
		g.explain.shard(k)
		return g.onceOpen(ctx, c, s)
	}
	d := &g.sharded
	d.of = slices.Grow(d.of[:0], o.part.Of)[:o.part.Of]
	clear(d.of)
	defer g.gather()
	for i, key := range g.keys {
		n := wire.ShardOf(o.part.Seed, key, o.part.Of)
		q := d.of[n]
		if q == nil {
			q = gets.Get().(*getQuery)
			d.of[n] = q
			p := &q.part
			p.ctx, p.c, p.s, p.of, p.err = ctx, c, s, g, nil
			q.appends = 0
			if q.open, err = s.shard(ctx, o, n); err != nil {
				return err
			}
		}
		p := &q.part
		p.at, p.keys, p.records = append(p.at, i), append(p.keys, key), append(p.records, g.records[i])
	}
	var last *getQuery
	for _, q := range d.of {
		if q == nil {
			continue
		}
		if q.keys, q.records = q.part.keys, q.part.records; last != nil {
			d.under.Add(1)
			go last.part.work()
		}
		last = q
	}
	err = last.onceOpen(ctx, c, s)
	d.under.Wait()
	for _, q := range d.of {
		if q != nil && err == nil {
			err = q.part.err
		}
	}
	return err
}

// gather puts the records of the shards' Gets in the order of the keys.
func (g *getQuery) gather() {
	for n, q := range g.sharded.of {
		if q == nil {
			continue
		}
		p := &q.part
		for j, i := range p.at {
			g.records[i] = p.records[j]
		}
		clear(p.keys)
		clear(p.records)
		p.at, p.keys, p.records = p.at[:0], p.keys[:0], p.records[:0]
		p.ctx, p.c, p.s, p.of = nil, nil, nil, nil
		g.sharded.of[n] = nil
		q.release()
	}
}

func (o *openSlab) shardAt() *model.ShardAt {
	if o.part == nil {
		return nil
	}
	return &model.ShardAt{Number: o.part.Number, Of: o.part.Of, Owner: o.part.owner}
}

// Shard returns the shard that has a key, nil: the collection is not divided.
func (r *Records) Shard(ctx context.Context, key []byte) (*model.ShardAt, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if k := r.several(); k != nil {
		return k.shard(ctx, key)
	}
	q := shardQuery{key: key}
	err := r.c.run(ctx, &q)
	return q.at, err
}

// shardQuery is a call of Shard.
type shardQuery struct {
	read
	key []byte
	at  *model.ShardAt
}

func (q *shardQuery) again() {}

func (q *shardQuery) once(ctx context.Context, c *Client, s *session) error {
	o, err := s.open(ctx, c.collection)
	q.open = o
	if err == nil {
		err = o.isOf(ofRecords)
	}
	if err == nil {
		o, err = s.shardOf(ctx, o, q.key)
	}
	if err == nil {
		q.at = o.shardAt()
	}
	return err
}
