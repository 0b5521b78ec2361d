package kvlocal

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/datasets/ycsb"
	"github.com/catfish-index/catfish/kv"
)

// ShardsConfig compares the throughput of several goroutines with the same keys:
// in one Map that all share; in a Map for each, whose keys no other goroutine
// accesses (single-threaded shards: HydraDB, SC 2015, 4.1.1; Jakiro, SIGMOD 2015);
// and pipelined, where some dispatch the requests to the owners of the shards.
//
//	shared      stream -> goroutine --+        sharded   stream -> goroutine -> Map
//	            stream -> goroutine --+-> Map            stream -> goroutine -> Map
//
//	pipelined   stream -> dispatcher ==queues==> owner -> Map
//	            stream -> dispatcher ==queues==> owner -> Map
//
// All have the same operations. Sharded streams are divided beforehand, as if
// the client sent to the shard. Each way has the same number of goroutines in
// all, or two.
type ShardsConfig struct {
	Goroutines int
	Keys       int
	ValueBytes int
	Mix        ycsb.Mix  // of reads and updates
	Dist       ycsb.Dist // Uniform, or Zipfian with Theta
	Theta      float64
	Ops        int // of all goroutines together, of each way in a round
	Rounds     int // of all ways
	Batch      int // requests that are handed over at once
	Seed       uint64
}

// mostShards bounds the memory: all pairs of dispatchers and owners have a queue.
const mostShards = 64

// Validate checks a configuration.
func (c *ShardsConfig) Validate() error {
	if err := validKeys(c.Keys, c.ValueBytes); err != nil {
		return err
	}
	switch {
	case c.Goroutines < 1 || c.Goroutines > mostShards:
		return fmt.Errorf("%w: %d goroutines, want 1 to %d", ErrConfig, c.Goroutines, mostShards)
	case c.Ops < 1 || c.Rounds < 1:
		return fmt.Errorf("%w: %d operations in %d rounds, want 1 or more", ErrConfig, c.Ops, c.Rounds)
	case c.Batch < 1 || c.Batch > 1<<10:
		return fmt.Errorf("%w: batches of %d, want 1 to %d", ErrConfig, c.Batch, 1<<10)
	case c.Mix.Has(ycsb.Insert) || c.Mix.Has(ycsb.Scan) || c.Mix.Has(ycsb.ReadModifyWrite):
		return fmt.Errorf("%w: mix %s, want reads and updates alone", ErrConfig, c.Mix)
	case c.Dist == ycsb.Latest:
		return fmt.Errorf("%w: %s keys without insertions, want uniform or zipf", ErrConfig, c.Dist)
	}
	w := c.workload()
	if err := w.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

func (c *ShardsConfig) workload() ycsb.Config {
	return ycsb.Config{
		Mix: c.Mix, Dist: c.Dist, Theta: c.Theta, Keys: uint64(c.Keys), ValueBytes: c.ValueBytes, Seed: c.Seed,
	}
}

// ShardsRow is the result of one way.
type ShardsRow struct {
	Way        string `json:"way"`
	Goroutines int    `json:"goroutines"`
	Maps       int    `json:"maps"`
	Keys       int    `json:"keys"`
	Mix        string `json:"mix"`
	Dist       string `json:"dist"`
	// Rate is operations per second by the clock, of all goroutines: the
	// median of the rounds, the least and the most.
	Rate  float64 `json:"rate"`
	Least float64 `json:"rate_least"`
	Most  float64 `json:"rate_most"`
	// Ratio is this way's rate divided by that of the shared Map in the same
	// round: the median of the rounds.
	Ratio float64 `json:"rate_to_shared"`
	// Busiest is the largest share of the operations of one Map, divided by an
	// equal share: the median of the rounds.
	Busiest float64 `json:"busiest"`
}

// Shards runs the comparison.
func Shards(ctx context.Context, c ShardsConfig, note func(string)) (rows []ShardsRow, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	dispatchers, owners := max(1, (c.Goroutines+1)/2), max(1, c.Goroutines/2)
	ways := []shardWay{
		{"shared", c.Goroutines, 1, c.shared},
		{"sharded", c.Goroutines, c.Goroutines, c.sharded},
		{"pipelined", dispatchers + owners, owners, c.pipelined(dispatchers)},
	}
	maps := make([][]*kv.Map, len(ways))
	for i, w := range ways {
		var free func()
		maps[i], free, err = c.fill(ctx, w.maps)
		if err != nil {
			return nil, err
		}
		defer free()
		note(fmt.Sprintf("%s: %d keys in %d maps", w.name, c.Keys, w.maps))
	}
	streams := make([]*ycsb.Ops, c.Goroutines)
	for i := range streams {
		if streams[i], err = c.workload().Ops(i); err != nil {
			return nil, err
		}
	}
	rates, busiest := make([][]float64, len(ways)), make([][]float64, len(ways))
	for round := range c.Rounds {
		ops := c.draw(streams)
		sums := make([]uint64, len(ways))
		for j := range ways {
			j = (j + round) % len(ways)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			var took time.Duration
			if sums[j], took, err = ways[j].run(ctx, maps[j], ops); err != nil {
				return nil, fmt.Errorf("bench: %s: %w", ways[j].name, err)
			}
			rates[j] = append(rates[j], stats.Ratio(float64(c.Ops), took.Seconds()))
			busiest[j] = append(busiest[j], c.busiest(ops, ways[j].maps))
		}
		for j, s := range sums {
			if s != sums[0] {
				return nil, fmt.Errorf("bench: %s found other values than %s", ways[j].name, ways[0].name)
			}
		}
		note(fmt.Sprintf("round %d of %d", round+1, c.Rounds))
	}
	for j, w := range ways {
		ratios := make([]float64, c.Rounds)
		for i, r := range rates[j] {
			ratios[i] = stats.Ratio(r, rates[0][i])
		}
		rows = append(rows, ShardsRow{
			Way: w.name, Goroutines: w.goroutines, Maps: w.maps, Keys: c.Keys, Mix: c.Mix.String(), Dist: c.Dist.String(),
			Rate: stats.Median(rates[j]), Least: slices.Min(rates[j]), Most: slices.Max(rates[j]),
			Ratio: stats.Median(ratios), Busiest: stats.Median(busiest[j]),
		})
	}
	return rows, nil
}

// fill makes n Maps, and puts each key into the one of its shard.
func (c *ShardsConfig) fill(ctx context.Context, n int) (maps []*kv.Map, free func(), err error) {
	var frees []func()
	free = func() {
		for _, f := range frees {
			f()
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	start := time.Now()
	for range n {
		// The sizes are limits: a shard may have more than its share.
		m, f, err := newMap(c.Keys, c.ValueBytes, putsPerSecond, c.Seed, func() time.Duration { return time.Since(start) })
		if err != nil {
			return nil, free, err
		}
		maps, frees = append(maps, m), append(frees, f)
	}
	value, w := make([]byte, c.ValueBytes), c.workload()
	for i := range uint64(c.Keys) {
		if i%interval == 0 && ctx.Err() != nil {
			return nil, free, ctx.Err()
		}
		k := w.Key(i)
		binary.LittleEndian.PutUint64(value, word(&k))
		if _, err := maps[c.shardOf(&k, n)].Put(kv.Entry{Key: k[:], Value: value}, kv.Condition{}); err != nil {
			return nil, free, fmt.Errorf("bench: put of key %d: %w", i, err)
		}
	}
	for _, m := range maps {
		for m.Tidy(interval) && m.Stats().Index.Growing {
		}
	}
	return maps, free, nil
}

// draw takes the next operations of each stream.
func (c *ShardsConfig) draw(streams []*ycsb.Ops) [][]request {
	all := make([][]request, len(streams))
	for i, s := range streams {
		n := c.Ops*(i+1)/len(streams) - c.Ops*i/len(streams)
		all[i] = make([]request, n)
		for j := range all[i] {
			op := s.Next()
			all[i][j] = request{op.Key, op.Kind == ycsb.Update}
		}
	}
	return all
}

// divide puts the operations into streams of n shards.
func (c *ShardsConfig) divide(streams [][]request, n int) [][]request {
	shards := make([][]request, n)
	for _, s := range streams {
		for i := range s {
			j := c.shardOf(&s[i].key, n)
			shards[j] = append(shards[j], s[i])
		}
	}
	return shards
}

func (c *ShardsConfig) busiest(streams [][]request, n int) float64 {
	most := 0
	for _, s := range c.divide(streams, n) {
		most = max(most, len(s))
	}
	return stats.Ratio(float64(most*n), float64(c.Ops))
}
