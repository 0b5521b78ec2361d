package server

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
)

// unloaded returns a server whose store is not loaded yet.
func unloaded(t *testing.T, o Options) *Server {
	t.Helper()
	s := &Server{opts: o}
	var err error
	s.store, err = store.New(store.Options{
		Dir: o.DataDir, SlabBytes: o.SlabBytes, Memory: s.newSlab, Owner: owner{s}, Collections: o.specs(), Now: s.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	return s
}

// TestCallsWhileStoreLoads: no call fails with ErrUnknownCollection while the store is
// being loaded, and collections in memory can be used.
func TestCallsWhileStoreLoads(t *testing.T) {
	s := unloaded(t, Options{DataDir: t.TempDir(), SlabBytes: 1 << 20, Keep: []string{testKept}})
	calls := map[string]func() error{
		"open":     func() error { _, err := (&service{s: s}).open("x", nil); return err },
		"ready":    func() error { return s.Ready("x") },
		"features": func() error { _, err := s.Features("x"); return err },
		"kept":     func() error { _, err := s.Kept("x"); return err },
		"drop":     func() error { _, err := s.DropCollection("x"); return err },
		"swap":     func() error { return s.SwapCollections(t.Context(), "x", "y") },
		"alter":    func() error { return s.AlterFeatures("x", model.FeaturesOptions{}) },
		"store":    func() error { _, err := s.Store(); return err },
	}
	for what, f := range calls {
		if err := f(); !errors.Is(err, model.ErrNotReady) {
			t.Errorf("%s: %v, want ErrNotReady", what, err)
		}
	}
	if err := s.Ready(model.DefaultCollection); err != nil {
		t.Errorf("boxes in memory: %v", err)
	}
	if err := s.store.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Kept(testKept); err != nil {
		t.Error(err)
	}
	if err := calls["open"](); !errors.Is(err, model.ErrUnknownCollection) {
		t.Errorf("loaded: %v", err)
	}
	if dropped, err := s.DropCollection("x"); dropped || err != nil {
		t.Errorf("loaded, drop: %v, %v", dropped, err)
	}
}
