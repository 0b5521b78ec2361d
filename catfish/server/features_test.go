package server

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/feature/filter/cel"
)

const testFeatures = "places"

func startFeatures(t testing.TB, opts Options) *Server {
	opts.Features = map[string]model.FeaturesOptions{testFeatures: {}}
	return startServer(t, opts)
}

func dialFeatures(t testing.TB, s *Server, o client.Options) *model.Features {
	t.Helper()
	o = client.WithHooks(o, keepYoung)
	o.Filters = cel.NewCache(64)
	c := dial(t, s, o)
	f, err := c.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	featureClients.Store(f, c)
	t.Cleanup(func() { featureClients.Delete(f) })
	return f
}

// featureClients are the clients of dialFeatures.
var featureClients sync.Map

func testPlace(r *rand.Rand, id int) model.Feature {
	x, y := r.Float64()*20-10, r.Float64()*20-10
	f := model.Feature{ID: fmt.Sprintf("place %d", id), Geometry: orb.Point{x, y}, Properties: fmt.Appendf(nil, `{"n":%d}`, id%10)}
	if id%7 == 0 {
		var all orb.MultiPolygon
		for i := range 4 {
			x := x + float64(i)*30
			all = append(all, orb.Polygon{{{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}, {x, y}}})
		}
		f.Geometry = all
	}
	return f
}
