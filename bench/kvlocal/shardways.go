package kvlocal

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/kv"
)

// request is an operation of a stream.
type request struct {
	key    ycsb.Key
	update bool
}

// word is the first word of a key's values, so that reads can be added up: an
// update writes the same word again.
func word(k *ycsb.Key) uint64 {
	return mix(binary.LittleEndian.Uint64(k[:]) ^ mix(binary.LittleEndian.Uint64(k[8:])))
}

// shardOf is the shard of n that has a key. The hash differs from that of the
// Maps, of whose buckets each Map would otherwise use only a part.
func (c *ShardsConfig) shardOf(k *ycsb.Key, n int) int {
	return int(cuckoo.Hash(^c.Seed, k[:]) % uint64(n))
}

// shardWay makes the operations of all streams, and returns the sum of the
// read values, and the duration.
type shardWay struct {
	name             string
	goroutines, maps int
	run              func(context.Context, []*kv.Map, [][]request) (uint64, time.Duration, error)
}

// together runs work(i) for i below n at the same time, and returns the sum,
// and the time until the last one ended. If one fails ctx ends for the others.
func together(ctx context.Context, n int, work func(ctx context.Context, i int) (uint64, error)) (sum uint64, took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sums, errs := make([]uint64, n), make([]error, n)
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range n {
		wg.Go(func() {
			if sums[i], errs[i] = work(ctx, i); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	took = time.Since(begin)
	for _, s := range sums {
		sum += s
	}
	return sum, took, errors.Join(errs...)
}

func (c *ShardsConfig) shared(ctx context.Context, maps []*kv.Map, streams [][]request) (uint64, time.Duration, error) {
	return together(ctx, len(streams), func(ctx context.Context, i int) (uint64, error) {
		return c.carryOut(ctx, maps[0], streams[i])
	})
}

func (c *ShardsConfig) sharded(ctx context.Context, maps []*kv.Map, streams [][]request) (uint64, time.Duration, error) {
	shards := c.divide(streams, len(maps))
	return together(ctx, len(maps), func(ctx context.Context, i int) (uint64, error) {
		return c.carryOut(ctx, maps[i], shards[i])
	})
}

// carryOut executes the operations of one stream in order.
func (c *ShardsConfig) carryOut(ctx context.Context, m *kv.Map, ops []request) (sum uint64, err error) {
	var b kv.Buffer
	value := make([]byte, c.ValueBytes)
	for i := range ops {
		if i%interval == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		v, err := one(m, &ops[i], value, &b)
		if err != nil {
			return 0, err
		}
		if v != nil {
			sum += binary.LittleEndian.Uint64(v)
		}
	}
	return sum, nil
}

// one executes an operation, and returns the value that a read found.
func one(m *kv.Map, op *request, value []byte, b *kv.Buffer) ([]byte, error) {
	if op.update {
		binary.LittleEndian.PutUint64(value, word(&op.key))
		_, err := m.Put(kv.Entry{Key: op.key[:], Value: value}, kv.Condition{})
		return nil, err
	}
	v, _, err := m.Get(op.key[:], b)
	return v.Value, err
}

// pipelined runs dispatchers, which hand each request to the owner of its Map.
func (c *ShardsConfig) pipelined(dispatchers int) func(context.Context, []*kv.Map, [][]request) (uint64, time.Duration, error) {
	return func(ctx context.Context, maps []*kv.Map, streams [][]request) (uint64, time.Duration, error) {
		queues := make([][]*queue, dispatchers) // by dispatcher, then by owner
		for i := range queues {
			for range maps {
				queues[i] = append(queues[i], newQueue(c.Batch, c.ValueBytes))
			}
		}
		var left atomic.Int64
		left.Store(int64(dispatchers))
		over := make(chan struct{})
		return together(ctx, dispatchers+len(maps), func(ctx context.Context, i int) (uint64, error) {
			if i >= dispatchers {
				return 0, c.ownShard(ctx, maps[i-dispatchers], queues, i-dispatchers, over)
			}
			defer func() {
				if left.Add(-1) == 0 {
					close(over)
				}
			}()
			return c.dispatchAll(ctx, streams, i, dispatchers, queues[i])
		})
	}
}

// dispatchAll dispatches each n-th stream, from the first on.
func (c *ShardsConfig) dispatchAll(ctx context.Context, streams [][]request, first, n int, queues []*queue) (sum uint64, err error) {
	for ; first < len(streams); first += n {
		dispatch(ctx, streams[first], queues,
			func(r *request) int { return c.shardOf(&r.key, len(queues)) },
			func(b *batch) {
				for j := range b.ops {
					if !b.ops[j].update {
						sum += binary.LittleEndian.Uint64(b.values[j*c.ValueBytes:])
					}
				}
			})
	}
	return sum, ctx.Err()
}

func (c *ShardsConfig) ownShard(ctx context.Context, m *kv.Map, queues [][]*queue, shard int, over <-chan struct{}) error {
	var mine []*queue
	for _, q := range queues {
		mine = append(mine, q[shard])
	}
	var buf kv.Buffer
	value := make([]byte, c.ValueBytes)
	return own(ctx, mine, over, func(b *batch) error {
		for j := range b.ops {
			v, err := one(m, &b.ops[j], value, &buf)
			if err != nil {
				return err
			}
			copy(b.values[j*c.ValueBytes:(j+1)*c.ValueBytes], v)
		}
		return nil
	})
}
