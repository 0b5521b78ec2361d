package kvlocal

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/stats"
)

// GetConfig is a comparison of lookups by one goroutine: of a kv.Map, of the
// same Map in batches, and of a Go map[string][]byte under a read lock, all with
// the same keys, drawn uniformly, so that caches are cold if the keys are many.
type GetConfig struct {
	Keys       int
	ValueBytes int
	Ops        int // of each way in a round
	Rounds     int // of all ways
	Batch      int // keys of one GetMany
	Seed       uint64
}

// Validate checks a configuration.
func (c *GetConfig) Validate() error {
	if err := validKeys(c.Keys, c.ValueBytes); err != nil {
		return err
	}
	switch {
	case c.Ops < 1 || c.Rounds < 1:
		return fmt.Errorf("%w: %d lookups in %d rounds, want 1 or more", ErrConfig, c.Ops, c.Rounds)
	case c.Batch < 1 || c.Batch > 1<<16:
		return fmt.Errorf("%w: batches of %d, want 1 to %d", ErrConfig, c.Batch, 1<<16)
	}
	return nil
}

// GetRow has the times of one way.
type GetRow struct {
	Way  string `json:"way"`
	Keys int    `json:"keys"`
	// Wall and CPU are nanoseconds per lookup, by the clock and of processor
	// time: medians of the rounds. They are equal on an otherwise idle
	// machine. Least and Most are of CPU.
	Wall  float64 `json:"ns"`
	CPU   float64 `json:"cpu_ns"`
	Least float64 `json:"cpu_ns_least"`
	Most  float64 `json:"cpu_ns_most"`
	// Rate is the rate of this way divided by that of the Go map in the same
	// round, by processor time: the median of the rounds.
	Rate float64 `json:"rate_to_map"`
}

// Get runs the comparison.
func Get(ctx context.Context, c GetConfig, note func(string)) ([]GetRow, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	start := time.Now()
	m, free, err := newMap(c.Keys, c.ValueBytes, 0, c.Seed, func() time.Duration { return time.Since(start) })
	if err != nil {
		return nil, err
	}
	defer free()
	plain := make(map[string][]byte, c.Keys)
	value := make([]byte, c.ValueBytes)
	err = fill(ctx, m, c.Keys, value, func(i uint64, key []byte) {
		binary.LittleEndian.PutUint64(value, mix(i))
		plain[string(key)] = bytes.Clone(value)
		if (i+1)%(1<<20) == 0 {
			note(fmt.Sprintf("%d of %d keys", i+1, c.Keys))
		}
	})
	if err != nil {
		return nil, err
	}
	runtime.GC()
	ways := []way{c.goMap(plain), c.get(m), c.getMany(m)}
	defer onThread()()
	took, spent := make([][]float64, len(ways)), make([][]float64, len(ways))
	for round := range c.Rounds {
		sums := make([]uint64, len(ways))
		for j := range ways {
			// Another order in each round, the same keys in each way.
			j = (j + round) % len(ways)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r := rand.New(rand.NewPCG(c.Seed, uint64(round)))
			begin, cpu := time.Now(), threadTime()
			if sums[j], err = ways[j].run(r, c.Ops); err != nil {
				return nil, err
			}
			spent[j] = append(spent[j], float64(threadTime()-cpu)/float64(c.Ops))
			took[j] = append(took[j], float64(time.Since(begin))/float64(c.Ops))
		}
		for j, s := range sums {
			if s != sums[0] {
				return nil, fmt.Errorf("bench: %s found other values than %s", ways[j].name, ways[0].name)
			}
		}
		note(fmt.Sprintf("round %d of %d", round+1, c.Rounds))
	}
	rows := make([]GetRow, len(ways))
	for j, w := range ways {
		ratios := make([]float64, c.Rounds)
		for i, ns := range spent[j] {
			ratios[i] = stats.Ratio(spent[0][i], ns)
		}
		rows[j] = GetRow{
			Way: w.name, Keys: c.Keys, Wall: stats.Median(took[j]), CPU: stats.Median(spent[j]),
			Least: slices.Min(spent[j]), Most: slices.Max(spent[j]), Rate: stats.Median(ratios),
		}
	}
	return rows, nil
}
