package kvlocal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
)

// layout is a kind of table and its items per bucket: loads are those at which
// Inserts keeps it, the last beyond the default load at which it grows.
type layout struct {
	kind  cuckoo.Kind
	items int
	loads []float64
}

// layouts are the paper's one item a bucket, four, and five, which is the
// default, each compared with random walks.
var layouts = []layout{
	{cuckoo.GCuckoo, 1, []float64{0.4, 0.48, 0.495}},
	{cuckoo.GCuckoo, 4, []float64{0.9, 0.94, 0.97}},
	{cuckoo.GCuckoo, 5, []float64{0.9, 0.96, 0.98}},
	{cuckoo.Conventional, 1, []float64{0.4, 0.48, 0.495}},
	{cuckoo.Conventional, 4, []float64{0.9, 0.94, 0.97}},
	{cuckoo.Conventional, 5, []float64{0.9, 0.96, 0.98}},
}

// table makes an empty table with buckets buckets in each half, in memory that
// has no room for larger ones.
func (l *layout) table(buckets int, seed uint64) (x cuckoo.Index, free func(), err error) {
	mem, err := mapped.Map(4096 + 2*int64(buckets)*cuckoo.LineBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("bench: mapping a table: %w", err)
	}
	free = func() { _ = mapped.Unmap(mem) }
	x, err = cuckoo.New(l.kind, mem, cuckoo.Options{Items: l.items, Buckets: buckets, MaxLoad: 1, Seed: seed})
	if err != nil {
		free()
		return nil, nil, err
	}
	return x, free, nil
}

func validBuckets(n int) error {
	if n < 64 || n > 1<<24 || n&(n-1) != 0 {
		return fmt.Errorf("%w: %d buckets, want a power of two, 64 to %d", ErrConfig, n, 1<<24)
	}
	return nil
}

// LoadConfig fills empty tables, one for each seed.
type LoadConfig struct {
	Buckets int // of each of a table's two
	Seeds   int
}

// Validate checks a configuration.
func (c *LoadConfig) Validate() error {
	if c.Seeds < 1 {
		return fmt.Errorf("%w: %d seeds, want 1 or more", ErrConfig, c.Seeds)
	}
	return validBuckets(c.Buckets)
}

// LoadRow is how full tables of one layout get: medians over the seeds of load
// factors, and the least.
type LoadRow struct {
	Kind    string `json:"kind"`
	Items   int    `json:"items_a_bucket"`
	Buckets int    `json:"buckets"` // of both tables
	Seeds   int    `json:"seeds"`
	// FirstStash is the load when the first item went to the stash; Growth when
	// half of the stash was full, at which a table grows at the latest. They
	// grow before that, at a load that is an option (cuckoo.Options.MaxLoad).
	FirstStash      float64 `json:"load_first_stash"`
	FirstStashLeast float64 `json:"load_first_stash_least"`
	Growth          float64 `json:"load_growth"`
	GrowthLeast     float64 `json:"load_growth_least"`
}

// Load measures all layouts, and calls each with a row.
func Load(ctx context.Context, c LoadConfig, each func(LoadRow)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	for _, l := range layouts {
		var first, growth []float64
		for seed := range c.Seeds {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			a, b, err := l.fill(c.Buckets, uint64(seed))
			if err != nil {
				return err
			}
			first, growth = append(first, a), append(growth, b)
		}
		each(LoadRow{
			Kind: l.kind.String(), Items: l.items, Buckets: 2 * c.Buckets, Seeds: c.Seeds,
			FirstStash: stats.Median(first), FirstStashLeast: slices.Min(first),
			Growth: stats.Median(growth), GrowthLeast: slices.Min(growth),
		})
	}
	return nil
}

// fill inserts until a table would have to grow.
func (l *layout) fill(buckets int, seed uint64) (first, growth float64, err error) {
	x, free, err := l.table(buckets, seed)
	if err != nil {
		return 0, 0, err
	}
	defer free()
	r := rand.New(rand.NewPCG(seed, 1))
	for n := uint64(1); ; n++ {
		if err := x.Insert(r.Uint64(), n); err != nil {
			return 0, 0, fmt.Errorf("bench: insert %d into a %v table: %w", n, l.kind, err)
		}
		if s := x.Stats(); s.Stash >= cuckoo.StashItems/2 {
			return float64(s.FirstStash) / float64(s.Capacity), s.Load(), nil
		}
	}
}
