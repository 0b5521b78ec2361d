package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/store/query"
)

// TestClientWithoutFilters: a client that compiles no filters asks the server where there
// is one, finds the same, and explains that.
func TestClientWithoutFilters(t *testing.T) {
	s := startFeatures(t, server.Options{})
	with := dialFeatures(t, s, Options{Transport: model.TransportSHM, Policy: "offload"})
	bare, err := dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload"}).Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		f := model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 20, 0}, Properties: fmt.Appendf(nil, `{"n":%d}`, i)}
		if _, _, err := with.Put(t.Context(), f, model.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	q := model.FeatureQuery{Area: query.Box(-1, -1, 2, 2), Filter: "properties.n < 7", Limit: 100}
	for _, c := range []struct {
		f      *model.Features
		filter string
		trips  uint64 // 1: by message
		want   int
	}{{with, q.Filter, 2, 7}, {bare, q.Filter, 1, 7}, {bare, "", 2, 20}} {
		q.Filter = c.filter
		fs, x, err := c.f.Explain(t.Context(), q)
		if err != nil || len(fs) != c.want {
			t.Fatalf("filter %q: %d features, want %d, %v", c.filter, len(fs), c.want, err)
		}
		if by := strings.Contains(x.Why, "compiles no filters"); by != (c.trips == 1) || (x.RoundTrips == 1) != (c.trips == 1) {
			t.Errorf("filter %q: %d round trips, because %s", c.filter, x.RoundTrips, x.Why)
		}
	}
	for _, err := range bare.Nearest(t.Context(), model.NearestQuery{K: 3, Filter: "properties.n > 5"}) {
		if err != nil {
			t.Error(err)
		}
	}
	var wrong error
	for _, err := range bare.Search(t.Context(), model.FeatureQuery{Area: q.Area, Filter: "properties."}) {
		wrong = err
	}
	if wrong == nil {
		t.Error("a wrong filter is no error")
	}
}
