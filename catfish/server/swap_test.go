package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestSwapTwice: a second swap of a name waits for the leases that the first one waits for.
func TestSwapTwice(t *testing.T) {
	s := startServer(t, WithServerHooks(Options{}, func(h *wire.ServerHooks) { h.NameLease = time.Hour }))
	for _, name := range []string{"a", "b", "c"} {
		if _, err := s.CreateFeatures(name, model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SwapCollections(t.Context(), "b", "c"); err != nil {
		t.Fatalf("no client has opened either: %v", err)
	}
	a, err := s.store.Lookup("a")
	if err != nil {
		t.Fatal(err)
	}
	opened(a, model.TransportSHM)
	since := attachedTo(a).opened.Load()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, other := range []string{"b", "c"} {
		if err := s.SwapCollections(ended, "a", other); !errors.Is(err, context.Canceled) {
			t.Fatalf("swapped with %s: %v, want the end of the wait", other, err)
		}
		now, err := s.store.Lookup("a")
		if err != nil || now == a || attachedTo(now).opened.Load() != since {
			t.Fatalf("swapped with %s: %v, opened at %d, want %d", other, err, attachedTo(now).opened.Load(), since)
		}
		a = now
	}
}
