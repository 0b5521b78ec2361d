package features

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Query is a search for a box, or for the nearest of a point, and how many features
// it finds.
type Query struct {
	Box  [4]float64 `json:"b"` // west, south, east, north; of the nearest: x, y
	Want int        `json:"n"`
}

// The number of queries of each work: they cover more features than caches
// hold, and choosing them takes seconds.
const (
	queriesOfOne     = 1 << 16
	queriesOfHundred = 1 << 13
	queriesNearest   = 1 << 14
)

// nearestK are wanted by a Nearest, of those whose Tenth is nearestTenth.
const (
	nearestK     = 10
	nearestTenth = 3
)

// nearestFilter passes one in ten.
var nearestFilter = fmt.Sprintf("properties.%s == %d", Tenth, nearestTenth)

// smallest and largest are the sides of boxes, in degrees: 1 cm and 200 km.
const (
	smallest = 1e-7
	largest  = 2
)

// choose draws queries of a work over the loaded features. A box lies around a
// position of a random feature, and grows or shrinks until it finds the number
// that the work wants: 1 (with borders, up to 8), or 90 to 110. If no box does,
// it draws another feature.
func choose(ctx context.Context, work string, d *Data, c *store.Collection, seed uint64, borders bool) ([]Query, error) {
	rng := rand.New(rand.NewPCG(seed, uint64(len(work))))
	low, high, n := 1, 1, queriesOfOne
	switch work {
	case SearchHundred:
		low, high, n = 90, 110, queriesOfHundred
	case Nearest:
		n = queriesNearest
	}
	if n = min(n, d.Len()); work == Nearest {
		qs := make([]Query, n)
		for i := range qs {
			at := d.Point(rng.IntN(d.Len()))
			qs[i] = Query{[4]float64{at[0] + (rng.Float64()-.5)/100, at[1] + (rng.Float64()-.5)/100}, nearestK}
		}
		return qs, nil
	}
	if work == SearchOne && borders {
		high = 8
	}
	if low > d.Len() {
		low, high = d.Len(), d.Len()
	}
	var qs []Query
	for tries := 0; len(qs) < n; tries++ {
		if tries > 100*n {
			return nil, fmt.Errorf("%w: only %d of %d boxes with %d to %d features were found",
				harness.ErrConfig, len(qs), n, low, high)
		}
		q, ok, err := around(ctx, c, d.Point(rng.IntN(d.Len())), low, high)
		if err != nil {
			return nil, err
		}
		if ok {
			qs = append(qs, q)
		}
	}
	return qs, nil
}

// around finds a box with low to high features around a position, by bisection of
// its side's logarithm.
func around(ctx context.Context, c *store.Collection, at [2]float64, low, high int) (q Query, ok bool, err error) {
	try := func(side float64) error {
		h := math.Exp(side) / 2
		q = Query{Box: [4]float64{at[0] - h, max(at[1]-h, -90), at[0] + h, min(at[1]+h, 90)}}
		return c.Search(ctx, store.Query{Area: area(q.Box)}, func(*store.Found) (bool, error) {
			q.Want++
			return q.Want <= high, nil // More need not be counted.
		})
	}
	from, to := math.Log(smallest), math.Log(largest)
	// Many places are in several areas: no box around them is small enough.
	if err := try(from); err != nil || q.Want > high {
		return q, false, err
	}
	// From 100 m for one, as a map shows it.
	for side := math.Log(1e-3 * math.Sqrt(float64(high))); to-from > 0.1; side = (from + to) / 2 {
		if err := try(side); err != nil {
			return q, false, err
		}
		switch {
		case q.Want < low:
			from = side
		case q.Want > high:
			to = side
		default:
			return q, true, nil
		}
	}
	return q, false, nil
}

func area(b [4]float64) *store.Area { return query.Box(b[0], b[1], b[2], b[3]) }

// writeQueries and readQueries transfer queries between processes.
func writeQueries(path string, qs []Query) error {
	b, err := json.Marshal(qs)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func readQueries(path string) (qs []Query, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &qs); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", path, err)
	}
	if len(qs) == 0 {
		return nil, fmt.Errorf("%w: %s has no queries", harness.ErrConfig, path)
	}
	return qs, nil
}
