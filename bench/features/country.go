package features

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

const (
	// countryPoints are searched for repeatedly: more than branch predictors
	// learn.
	countryPoints = 1 << 16
	// countryChecks of them are compared with a test of every country.
	countryChecks = 256
)

// Ways of Country.
const (
	Land  = "land"  // points in countries
	Globe = "globe" // points anywhere
)

// countries finds, with one goroutine of one process, in which of a file's
// polygons a point lies. Points are uniform on the globe or, by way Land, in
// polygons, uniform in degrees.
func countries(ctx context.Context, job LocalJob) (*Sample, error) {
	st, err := store.Open(ctx, store.Options{})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	c, err := st.CreateFeatures(collection, store.CollectionOptions{})
	if err != nil {
		return nil, err
	}
	all, err := loadCountries(ctx, c, job.Countries)
	if err != nil {
		return nil, err
	}
	found := 0
	count := func(*store.Found) (bool, error) { found++; return true, nil }
	rng := rand.New(rand.NewPCG(job.Seed, 4))
	draw := func() (float64, float64) { return globe(rng) }
	if job.Way == Land {
		if draw, err = inBoxes(rng, all); err != nil {
			return nil, err
		}
	}
	points := make([]store.Query, 0, countryPoints)
	for tries := 0; len(points) < countryPoints; tries++ {
		x, y := draw()
		q := store.Query{Area: query.Box(x, y, x, y)}
		found = 0
		if err := c.Search(ctx, q, count); err != nil {
			return nil, err
		}
		if found > 0 || job.Way == Globe {
			points = append(points, q)
		}
		if tries > 1000*countryPoints {
			return nil, fmt.Errorf("%w: of %d points %d are in features of %s", harness.ErrConfig, tries, len(points), job.Countries)
		}
	}
	s := &Sample{Latency: latency.New(), More: map[string]float64{"countries": float64(len(all))}}
	for i := range countryChecks {
		found = 0
		if err := c.Search(ctx, points[i], count); err != nil {
			return nil, err
		}
		if err := checkCountry(all, points[i].Area.Box, found, s); err != nil {
			return nil, err
		}
	}
	// One reading of the clock for this many points.
	const together = 256
	n := 0
	found = 0
	start := time.Now()
	for now := start; now.Sub(start) < job.Duration; {
		for range together {
			if err := c.Search(ctx, points[n%len(points)], count); err != nil {
				return nil, err
			}
			n++
		}
		end := time.Now()
		s.Latency.RecordMany(end.Sub(now)/together, together)
		now = end
	}
	s.Elapsed, s.Ops, s.Features = time.Since(start), int64(n), int64(found)
	return s, nil
}

// globe is a random point, uniform on the globe.
func globe(rng *rand.Rand) (lon, lat float64) {
	return 360*rng.Float64() - 180, math.Asin(2*rng.Float64()-1) * 180 / math.Pi
}

// inBoxes draws points in the features' boxes.
func inBoxes(rng *rand.Rand, all [][]byte) (func() (lon, lat float64), error) {
	var boxes []feature.Box
	for _, value := range all {
		v, err := feature.Parse(value)
		if err != nil {
			return nil, err
		}
		boxes = v.Boxes(boxes)
	}
	// Each by its share of the area: sums are those of a box and all earlier ones.
	sums, sum := make([]float64, len(boxes)), 0.0
	for i, b := range boxes {
		sum += (b.MaxX - b.MinX) * (b.MaxY - b.MinY)
		sums[i] = sum
	}
	if sum == 0 {
		return nil, fmt.Errorf("%w: no feature has an area", harness.ErrConfig)
	}
	return func() (lon, lat float64) {
		i, _ := slices.BinarySearch(sums, rng.Float64()*sum)
		b := &boxes[min(i, len(boxes)-1)]
		return b.MinX + rng.Float64()*(b.MaxX-b.MinX), b.MinY + rng.Float64()*(b.MaxY-b.MinY)
	}, nil
}

// loadCountries stores a file's features, and returns their bytes.
func loadCountries(ctx context.Context, c *store.Collection, path string) (all [][]byte, err error) {
	r, err := places.Open(path, places.Options{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for p, err := range r.All() {
		if err != nil {
			return nil, err
		}
		id, value, err := query.Encode(store.Feature{ID: fmt.Sprint(len(all)), Geometry: p.Geometry, Properties: p.Properties}, c.Options().Space)
		if err != nil {
			return nil, err
		}
		written := make(chan error, 1)
		c.PutEncoded(id, value, 0, kv.Condition{}, func(_ uint64, err error) { written <- err })
		if err := <-written; err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s has no features", harness.ErrConfig, path)
	}
	return all, ctx.Err()
}

// checkCountry compares the number of features found with a test of each.
func checkCountry(all [][]byte, at [4]float64, found int, s *Sample) error {
	match, err := feature.NewBox(feature.Geographic, at[0], at[1], at[2], at[3], feature.Intersects)
	if err != nil {
		return err
	}
	want := 0
	for _, value := range all {
		v, err := feature.Parse(value)
		if err != nil {
			return err
		}
		ok, err := match.Match(&v)
		if err != nil {
			return err
		}
		if ok {
			want++
		}
	}
	s.Found, s.Wanted = s.Found+int64(found), s.Wanted+int64(want)
	if found != want {
		if s.Wrong++; s.First == "" {
			s.First = fmt.Sprintf("%v is in %d features, want %d", at[:2], found, want)
		}
	}
	return nil
}
