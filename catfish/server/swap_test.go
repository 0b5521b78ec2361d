package server

import (
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestSwapTwice: a second swap of a name waits for the leases that the first one waits for.
func TestSwapTwice(t *testing.T) {
	const lease = time.Hour
	s := startServer(t, WithServerHooks(Options{}, func(h *wire.ServerHooks) { h.NameLease = lease }))
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.CreateFeatures(name, model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	swap := func() error { return nil } // The store's part does not matter here.
	if until, err := s.colls.swap(s, "b", "c", swap); until != 0 || err != nil {
		t.Fatalf("no client has opened either: %v, %v", until, err)
	}
	a, err := s.colls.byName("a")
	if err != nil {
		t.Fatal(err)
	}
	a.open(model.TransportSHM)
	opened := time.Duration(a.opened.Load())
	for _, other := range []string{"b", "c"} {
		until, err := s.colls.swap(s, "a", other, swap)
		if err != nil || until < opened+lease {
			t.Fatalf("swapped with %s: until %v, %v, want %v", other, until, err, opened+lease)
		}
	}
}
