package kvlocal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/kv"
)

// PutConfig is a long run of updates by one goroutine, of keys drawn
// uniformly: each writes a new record out of place. It shows the rate, and
// that memory is bounded by a second's updates.
type PutConfig struct {
	Keys       int
	ValueBytes int
	Updates    int
	Parts      int // a row for each, of as many updates
	Seed       uint64
}

// Validate checks a configuration.
func (c *PutConfig) Validate() error {
	if err := validKeys(c.Keys, c.ValueBytes); err != nil {
		return err
	}
	if c.Parts < 1 || c.Updates < c.Parts {
		return fmt.Errorf("%w: %d updates in %d parts, want one or more in each", ErrConfig, c.Updates, c.Parts)
	}
	return nil
}

// PutRow is one part of the run.
type PutRow struct {
	Updates int `json:"updates"` // until its end, with those before
	Keys    int `json:"keys"`
	// Rate is updates per second by the clock, CPU nanoseconds of processor
	// time per update, the Map's maintenance included.
	Rate float64 `json:"rate"`
	CPU  float64 `json:"cpu_ns"`
	// At the part's end: memory of the process, and of the heap of records.
	Memory
	Spans   int `json:"span_bytes"`    // that the heap of records occupies
	Retired int `json:"retired_bytes"` // of these, of dead records
}

// putsPerSecond bounds the memory for dead records, of which a second's worth
// waits for readers: updates are limited to this rate.
const putsPerSecond = 10_000_000

// Put makes the run, and calls each with the row of each finished part.
func Put(ctx context.Context, c PutConfig, each func(PutRow)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	start := time.Now()
	m, free, err := newMap(c.Keys, c.ValueBytes, putsPerSecond, c.Seed, func() time.Duration { return time.Since(start) })
	if err != nil {
		return err
	}
	defer free()
	value := make([]byte, c.ValueBytes)
	if err := fill(ctx, m, c.Keys, value, func(uint64, []byte) {}); err != nil {
		return err
	}
	defer onThread()()
	r := rand.New(rand.NewPCG(c.Seed, 0))
	for done, part := 0, 1; part <= c.Parts; part++ {
		n := c.Updates*part/c.Parts - done
		begin, cpu := time.Now(), threadTime()
		if err := updates(ctx, m, r, c.Keys, n, value); err != nil {
			return err
		}
		took := time.Since(begin)
		done += n
		s := m.Stats().Records
		each(PutRow{
			Updates: done, Keys: c.Keys, Rate: stats.Ratio(float64(n), took.Seconds()),
			CPU: float64(threadTime()-cpu) / float64(n), Memory: memoryNow(),
			Spans: s.SpanBytes, Retired: s.RetiredBytes,
		})
	}
	return nil
}

func updates(ctx context.Context, m *kv.Map, r *rand.Rand, keys, n int, value []byte) error {
	var key [keyBytes]byte
	for i := range n {
		if i%interval == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		k := keyAt(&key, r.Uint64N(uint64(keys)))
		if _, err := m.Put(kv.Entry{Key: k, Value: value}, kv.Condition{}); err != nil {
			return fmt.Errorf("bench: update %d: %w", i, err)
		}
	}
	return nil
}
