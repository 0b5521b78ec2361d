package server

import (
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
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
