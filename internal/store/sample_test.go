package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// TestSample: a search finds the sampled features, and asks about each entry once.
func TestSample(t *testing.T) {
	const n = 50_000 // more than are found at once
	c := create(t, open(t, Options{}), CollectionOptions{})
	fill(t, c, n, func(i int) Feature {
		return Feature{ID: fmt.Sprintf("f%05d", i), Geometry: orb.Point{float64(i) / n, 1}}
	})
	asked, found := 0, 0
	q := Query{Area: query.Box(0, 0, 2, 2), Filter: "id < 'f20000'", Sample: func(r rstar.Rect) bool {
		asked++
		return r.MinX < 0.5
	}}
	if err := c.Search(t.Context(), q, func(*Found) (bool, error) { found++; return true, nil }); err != nil || asked != n || found != 20_000 {
		t.Errorf("asked about %d, found %d, %v", asked, found, err)
	}
	for _, q := range []Query{{Sample: q.Sample}, {Sample: q.Sample, Area: q.Area, Order: query.ByID}} {
		if _, err := c.Prepare(q); !errors.Is(err, ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}
