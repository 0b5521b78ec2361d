package features

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

const (
	// fillBatch and fillers are how 'catfish load' stores features.
	fillBatch = 256
	fillers   = 4
	// noteFeatures is after how many features progress is reported: every few seconds.
	noteFeatures = 1 << 19
)

// fill calls put to store all features, fillers batches at a time.
func fill(ctx context.Context, d *Data, put func(context.Context, []catfish.Feature) error, note func(string)) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	began := time.Now()
	for range fillers {
		g.Go(func() error {
			batch := make([]catfish.Feature, 0, fillBatch)
			for {
				to := int(next.Add(fillBatch))
				from := to - fillBatch
				if from >= d.Len() {
					return nil
				}
				batch = batch[:0]
				for i := from; i < min(to, d.Len()); i++ {
					batch = append(batch, d.Feature(i))
				}
				if err := put(ctx, batch); err != nil {
					return err
				}
				if from/noteFeatures != to/noteFeatures {
					note(fmt.Sprintf("loaded %d of %d features, %.0f/s", to, d.Len(), float64(to)/time.Since(began).Seconds()))
				}
			}
		})
	}
	return g.Wait()
}

// fillStore stores all in an empty collection of this process, like 'catfish
// serve --load'.
func fillStore(ctx context.Context, d *Data, c *store.Collection, note func(string)) error {
	return c.Fill(func() error { return putAll(ctx, d, c, note) })
}

// putAll stores all in a collection of this process.
func putAll(ctx context.Context, d *Data, c *store.Collection, note func(string)) error {
	return fill(ctx, d, func(ctx context.Context, batch []catfish.Feature) error {
		var under sync.WaitGroup
		var failed atomic.Pointer[error]
		for _, f := range batch {
			id, value, err := query.Encode(store.Feature(f), c.Options().Space)
			if err != nil {
				return err
			}
			under.Add(1)
			c.PutEncoded(id, value, 0, kv.Condition{}, func(_ uint64, err error) {
				if err != nil {
					failed.Store(&err)
				}
				under.Done()
			})
		}
		under.Wait() // Together, so that they share a commit.
		if err := failed.Load(); err != nil {
			return *err
		}
		return ctx.Err()
	}, note)
}

// putMany returns a function that stores a batch over a client.
func putMany(to *catfish.Features) func(context.Context, []catfish.Feature) error {
	return func(ctx context.Context, batch []catfish.Feature) error {
		results, err := to.PutMany(ctx, batch)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				return fmt.Errorf("storing %q: %w", r.ID, r.Err)
			}
		}
		return nil
	}
}

// loadRing loads over connections of a client process.
func loadRing(ctx context.Context, job LoadJob, note func(string), began time.Time) (*Sample, error) {
	d, err := Open(job.DataJob)
	if err != nil {
		return nil, err
	}
	c, f, err := dial(ctx, job)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	first, err := harness.UsageSince(began)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, d, putMany(f), note); err != nil {
		return nil, err
	}
	last, err := harness.UsageSince(began)
	if err != nil {
		return nil, err
	}
	n, err := f.Count(ctx, catfish.FeatureQuery{})
	if err != nil {
		return nil, err
	}
	s := &Sample{
		Elapsed: last.Wall - first.Wall, CPU: last.CPU - first.CPU, Latency: latency.New(),
		Ops: int64(d.Len()), Features: int64(d.Len()), Found: int64(n), Wanted: int64(d.Len()),
	}
	if n != d.Len() {
		s.Wrong, s.First = 1, fmt.Sprintf("%d features were loaded, %d are there", d.Len(), n)
	}
	return s, nil
}
