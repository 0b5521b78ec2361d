package kvlocal

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/kv"
)

func shardsConfig(goroutines int) ShardsConfig {
	return ShardsConfig{
		Goroutines: goroutines, Keys: 2000, ValueBytes: 32, Mix: ycsb.MixA, Dist: ycsb.Zipfian, Theta: ycsb.Theta,
		Ops: 10_001, Rounds: 3, Batch: 16, Seed: 1,
	}
}

// All ways find the same, with any number of goroutines and batches that do and do
// not divide the operations.
func TestShards(t *testing.T) {
	for _, goroutines := range []int{1, 2, 3, 6} {
		for _, batch := range []int{1, 16, 1000} {
			c := shardsConfig(goroutines)
			c.Batch = batch
			rows, err := Shards(t.Context(), c, ignore)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != 3 || rows[0].Ratio != 1 || rows[0].Maps != 1 || rows[1].Maps != goroutines || rows[2].Goroutines != max(2, goroutines) {
				t.Fatalf("%+v", rows)
			}
			for _, r := range rows {
				if r.Rate <= 0 || r.Least > r.Rate || r.Rate > r.Most || r.Ratio <= 0 || r.Busiest < 1 || r.Maps == 1 && r.Busiest != 1 {
					t.Errorf("%+v", r)
				}
			}
		}
	}
}

// Each way reads its Maps' values: a Map whose values differ is detected. A
// key in the wrong shard is an error.
func TestShardsAreRead(t *testing.T) {
	c := shardsConfig(4)
	c.Mix = ycsb.MixC
	w := c.workload()
	var streams []*ycsb.Ops
	for i := range c.Goroutines {
		s, err := w.Ops(i)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	ops := c.draw(streams)
	n := 0
	var want uint64
	for _, s := range ops {
		n += len(s)
		for i := range s {
			want += word(&s[i].key)
		}
	}
	if n != c.Ops {
		t.Errorf("%d operations, want %d", n, c.Ops)
	}
	for _, way := range []shardWay{
		{"shared", 4, 1, c.shared}, {"sharded", 4, 4, c.sharded}, {"pipelined", 5, 3, c.pipelined(2)},
	} {
		maps, free, err := c.fill(t.Context(), way.maps)
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		if sum, took, err := way.run(t.Context(), maps, ops); sum != want || took <= 0 || err != nil {
			t.Errorf("%s: %d, want %d, %v", way.name, sum, want, err)
		}
		key := ops[0][0].key
		m := maps[c.shardOf(&key, way.maps)]
		if _, err := m.Put(kv.Entry{Key: key[:], Value: make([]byte, 32)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		if sum, _, err := way.run(t.Context(), maps, ops); sum == want || err != nil {
			t.Errorf("%s did not read the value that was changed: %v", way.name, err)
		}
		if err := m.Delete(key[:], kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := way.run(t.Context(), maps, ops); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s with a key lost: %v", way.name, err)
		}
	}
}

// Each request handed over is answered once, in order, by the owner of its
// shard, whichever side runs ahead; none is left when the dispatchers return.
func TestHandOff(t *testing.T) {
	for _, batchOps := range []int{1, 3, 64} {
		const dispatchers, owners, n = 3, 2, 5000
		queues := make([][]*queue, dispatchers)
		for i := range queues {
			for range owners {
				queues[i] = append(queues[i], newQueue(batchOps, 8))
			}
		}
		over := make(chan struct{})
		errs := make(chan error, owners)
		for o := range owners {
			go func() {
				var mine []*queue
				for _, q := range queues {
					mine = append(mine, q[o])
				}
				errs <- own(t.Context(), mine, over, func(b *batch) error {
					for j := range b.ops {
						binary.LittleEndian.PutUint64(b.values[8*j:], 10*binary.LittleEndian.Uint64(b.ops[j].key[:])+uint64(o))
					}
					return nil
				})
			}()
		}
		got := make([][owners][]uint64, dispatchers)
		dones := make(chan struct{})
		for d := range dispatchers {
			go func() {
				defer func() { dones <- struct{}{} }()
				ops := make([]request, n)
				for i := range ops {
					binary.LittleEndian.PutUint64(ops[i].key[:], uint64(i))
				}
				dispatch(t.Context(), ops, queues[d],
					func(r *request) int { return int(r.key[0]) % owners },
					func(b *batch) {
						for j := range b.ops {
							v := binary.LittleEndian.Uint64(b.values[8*j:])
							got[d][v%10] = append(got[d][v%10], v/10)
						}
					})
			}()
		}
		for range dispatchers {
			<-dones
		}
		close(over)
		for range owners {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		for d := range got {
			all := 0
			for o, l := range got[d] {
				all += len(l)
				if !slices.IsSorted(l) {
					t.Errorf("batches of %d: dispatcher %d, owner %d: out of order", batchOps, d, o)
				}
				for _, v := range l {
					if int(v)%256%owners != o {
						t.Fatalf("request %d was answered by owner %d", v, o)
					}
				}
			}
			if all != n {
				t.Errorf("batches of %d: dispatcher %d has %d answers, want %d", batchOps, d, all, n)
			}
		}
	}
}

func TestShardsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := shardsConfig(4)
	if _, err := Shards(ctx, c, func(s string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, change := range []func(*ShardsConfig){
		func(c *ShardsConfig) { c.Goroutines = 0 }, func(c *ShardsConfig) { c.Goroutines = mostShards + 1 },
		func(c *ShardsConfig) { c.Keys = 0 }, func(c *ShardsConfig) { c.ValueBytes = 7 },
		func(c *ShardsConfig) { c.Ops = 0 }, func(c *ShardsConfig) { c.Rounds = 0 },
		func(c *ShardsConfig) { c.Batch = 0 }, func(c *ShardsConfig) { c.Batch = 1 << 20 },
		func(c *ShardsConfig) { c.Mix = ycsb.MixD }, func(c *ShardsConfig) { c.Mix = ycsb.MixE }, func(c *ShardsConfig) { c.Mix = ycsb.MixF },
		func(c *ShardsConfig) { c.Dist = ycsb.Latest }, func(c *ShardsConfig) { c.Theta = -1 },
	} {
		c := shardsConfig(2)
		if change(&c); !errors.Is(c.Validate(), ErrConfig) {
			t.Errorf("%+v", c)
		}
	}
}
