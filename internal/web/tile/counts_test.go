package tile

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// TestCounts: cells do not overlap, are whole, meet the area, and have as many
// features as a search of them finds, over 180 degrees too.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 4))
	c := places(t, append(scattered(r, 2000, true),
		store.Feature{ID: "180", Geometry: orb.Point{180, 10}}, store.Feature{ID: "-180", Geometry: orb.Point{-180, 10}})...)
	for _, x := range []struct {
		west, south, east, north float64
		zoom                     int
	}{{-180, -85, 180, 85, 0}, {-180, -90, 180, 90, 5}, {-180, -85, 180, 85, 3}, {177, -20, -170, 30, 4}, {-10, 30, 20, 60, 7}, {10, 10, -10, 20, 0}, {170, -10, -170, 10, 1}} {
		for _, filter := range []string{"", "properties.even || id == '180'"} {
			o := Options{Filter: filter}
			cells, sampled, err := new(Builder).Counts(t.Context(), whole.OfOne(c), x.west, x.south, x.east, x.north, x.zoom, o)
			if err != nil || sampled != 0 {
				t.Fatal(sampled, err)
			}
			if len(cells) == 0 {
				t.Errorf("%+v: no cells", x)
			}
			sum := 0
			for i, at := range cells {
				n, err := c.Count(t.Context(), store.Query{Filter: filter, Area: query.Box(at.West, at.South, at.East, at.North)})
				if err != nil {
					t.Fatal(err)
				}
				// A search finds objects at 180 degrees under both longitudes.
				if at.Count > n || at.Count < n-2 || math.Abs(at.West) != 180 && math.Abs(at.East) != 180 && at.Count != n {
					t.Errorf("%+v: %d in %+v", x, n, at)
				}
				if at.East-at.West != 360/math.Exp2(float64(x.zoom)) {
					t.Errorf("%+v: %+v is %v wide", x, at, at.East-at.West)
				}
				for _, other := range cells[:i] {
					if other.West == at.West && other.South == at.South {
						t.Errorf("%+v: %+v twice", x, at)
					}
				}
				if !(at.North >= x.south && at.South <= x.north) {
					t.Errorf("%+v: %+v is outside", x, at)
				}
				sum += at.Count
			}
			if x.west == -180 && x.east == 180 && filter == "" && sum != 2002 {
				t.Errorf("%+v: %d features, want 2002", x, sum)
			}
		}
	}
}

// TestSampledCounts: a filter over too many features counts a sample, and says so.
func TestSampledCounts(t *testing.T) {
	c := places(t, scattered(rand.New(rand.NewPCG(6, 4)), 5000, true)...)
	o := Options{Filter: "properties.even"}
	sum := func(b Builder, west, east float64) (n, sampled int) {
		cells, sampled, err := b.Counts(t.Context(), whole.OfOne(c), west, -85, east, 85, 3, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range cells {
			n += at.Count
		}
		return n, sampled
	}
	for _, x := range [][2]float64{{-180, 180}, {90, -90}} {
		exact, none := sum(Builder{}, x[0], x[1])
		about, sampled := sum(Builder{MaxFiltered: 200}, x[0], x[1])
		if none != 0 || sampled < 4 || about < exact*6/10 || about > exact*14/10 || about%sampled != 0 {
			t.Errorf("%v: %d of a sample of 1/%d, want about %d (%d)", x, about, sampled, exact, none)
		}
	}
}

// TestCountsRefused: too many cells, no cells, and a planar collection.
func TestCountsRefused(t *testing.T) {
	st := open(t, store.Options{})
	c := create(t, st, store.CollectionOptions{})
	plane, err := st.CreateFeatures("plane", store.CollectionOptions{Space: feature.Planar})
	if err != nil {
		t.Fatal(err)
	}
	world := []float64{-180, -80, 180, 80}
	for _, x := range []struct {
		c    *store.Collection
		a    []float64
		zoom int
		want error
	}{
		{c, world, 8, ErrTooMany}, {c, world, MaxCellZoom, ErrTooMany}, {c, world, MaxCellZoom + 1, ErrNoTile}, {c, world, -1, ErrNoTile},
		{plane, world, 1, ErrSpace}, {c, []float64{0, 1, 0, -1}, 1, feature.ErrInvalidGeometry},
		{c, world, 7, nil}, {c, []float64{1, 1, 1, 1}, MaxCellZoom, nil},
	} {
		if _, _, err := new(Builder).Counts(t.Context(), whole.OfOne(x.c), x.a[0], x.a[1], x.a[2], x.a[3], x.zoom, Options{}); !errors.Is(err, x.want) {
			t.Errorf("%v, zoom %d: %v, want %v", x.a, x.zoom, err, x.want)
		}
	}
}
