package features

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

// collection is the name of the measured collection.
const collection = "places"

func dial(ctx context.Context, job LoadJob) (*catfish.Client, *catfish.Features, error) {
	policy, transport := policyOf(job.Way)
	c, err := catfish.Dial(ctx, job.Addr, catfish.Options{
		Policy: policy, Transport: transport, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("dialling %s: %w", job.Addr, err)
	}
	f, err := c.Features(collection)
	if err != nil {
		_ = c.Close() // The first error says more.
		return nil, nil, err
	}
	return c, f, nil
}

// openRings connects for the ways of Catfish's own client.
func openRings(ctx context.Context, job LoadJob) (*steps, error) {
	var clients []*catfish.Client
	s := &steps{
		close: func() {
			for _, c := range clients {
				_ = c.Close() // Everything is measured already.
			}
		},
		counters: func() (sum bench.Counters) {
			for _, c := range clients {
				sum = sum.Add(bench.CatfishConn{Client: c}.Counters())
			}
			return sum
		},
	}
	make, err := ringSteps(job)
	for i := 0; i < job.Clients && err == nil; i++ {
		var c *catfish.Client
		var f *catfish.Features
		if c, f, err = dial(ctx, job); err != nil {
			break
		}
		clients = append(clients, c)
		for range job.InFlight {
			s.all = append(s.all, make(f))
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// ringSteps returns a function that makes a job's steps.
func ringSteps(job LoadJob) (func(*catfish.Features) step, error) {
	switch job.Work {
	case Upsert, Move:
		pool, err := newWrites(job)
		return func(f *catfish.Features) step {
			return func(ctx context.Context, rng *rand.Rand) (done, error) {
				_, _, err := f.Put(ctx, pool.feature(rng), kv.Condition{})
				return done{ops: 1, features: 1}, err
			}
		}, err
	case Nearest:
		qs, err := readQueries(job.Queries)
		return func(f *catfish.Features) step {
			return func(ctx context.Context, rng *rand.Rand) (d done, err error) {
				q := &qs[rng.IntN(len(qs))]
				var at ascending
				for p, err := range f.Nearest(ctx, catfish.NearestQuery{X: q.Box[0], Y: q.Box[1], K: nearestK, Filter: nearestFilter}) {
					if err != nil {
						return d, err
					}
					at.next(p.Distance)
				}
				return at.judge(q), nil
			}
		}, err
	case SearchOne, SearchHundred:
		qs, err := readQueries(job.Queries)
		return func(f *catfish.Features) step {
			return func(ctx context.Context, rng *rand.Rand) (d done, err error) {
				q := &qs[rng.IntN(len(qs))]
				n := 0
				for _, err := range f.Search(ctx, catfish.FeatureQuery{Area: area(q.Box)}) {
					if err != nil {
						return d, err
					}
					n++
				}
				return q.judge(n), nil
			}
		}, err
	}
	return nil, fmt.Errorf("%w: no work %q over a ring", harness.ErrConfig, job.Work)
}

// judge checks an answer of n features.
func (q *Query) judge(n int) done {
	d := done{ops: 1, features: n, wanted: q.Want}
	if n != q.Want {
		d.wrong = fmt.Sprintf("%v: %d features, want %d", q.Box, n, q.Want)
	}
	return d
}

// ascending checks that distances ascend.
type ascending struct {
	n     int
	last  float64
	wrong bool
}

func (a *ascending) next(distance float64) {
	a.wrong = a.wrong || distance < a.last
	a.last = distance
	a.n++
}

func (a *ascending) judge(q *Query) done {
	d := q.judge(a.n)
	if a.wrong {
		d.wrong = fmt.Sprintf("around %v: distances do not ascend", q.Box[:2])
	}
	return d
}

// writes are features to be written, drawn at random.
type writes struct {
	d    *Data
	move bool
	pool []catfish.Feature // of Upsert: making them takes longer than writing
}

// poolFeatures is how many different features are upserted.
const poolFeatures = 1 << 14

func newWrites(job LoadJob) (*writes, error) {
	d, err := Open(job.DataJob)
	if err != nil {
		return nil, err
	}
	w := &writes{d: d, move: job.Work == Move}
	rng := rand.New(rand.NewPCG(job.Seed, 3))
	for range min(poolFeatures, d.Len()) {
		n := rng.IntN(d.Len())
		if w.move {
			n = d.Object(rng.IntN(d.Len()))
		}
		w.pool = append(w.pool, d.Feature(n))
	}
	return w, nil
}

// feature is an upsert of a random feature that changes only the revision, or
// a point that has moved by up to 100 m from its first position.
func (w *writes) feature(rng *rand.Rand) catfish.Feature {
	f := w.pool[rng.IntN(len(w.pool))]
	if p, ok := f.Geometry.(orb.Point); ok && w.move {
		p[0] += (rng.Float64() - .5) / 500
		p[1] += (rng.Float64() - .5) / 500
		f.Geometry = p
	}
	return f
}
