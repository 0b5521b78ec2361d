package server

import (
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
)

// No call fails with ErrUnknownCollection while a store is opened: neither before it is
// open, nor while the opening ends, nor before all of the server's own collections are
// made.
func TestLookUpWhileOpening(t *testing.T) {
	s := startServer(t, Options{DataDir: t.TempDir(), Keep: []string{testKept}})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	unknown := func(name string) (*collection, error) {
		return nil, fmt.Errorf("%w: %q", model.ErrUnknownCollection, name)
	}
	if _, err := s.lookUp("x", unknown); !errors.Is(err, model.ErrUnknownCollection) {
		t.Errorf("open: %v", err)
	}
	was := s.features.ended
	defer func() { s.features.ended = was }()

	s.features.ended = make(chan struct{}) // The store is open, and the kept ones are being made.
	for what, f := range map[string]func() error{
		"open":     func() error { _, err := (&service{s: s}).open("x", nil); return err },
		"ready":    func() error { return s.Ready("x") },
		"features": func() error { _, err := s.Features("x"); return err },
		"kept":     func() error { _, err := s.Kept("x"); return err },
		"drop":     func() error { _, err := s.DropCollection("x"); return err },
	} {
		if err := f(); !errors.Is(err, model.ErrNotReady) {
			t.Errorf("%s: %v, want ErrNotReady", what, err)
		}
	}
	if _, err := s.Kept(testKept); err != nil {
		t.Errorf("what is there: %v", err)
	}
	_, err := s.lookUp("x", func(name string) (*collection, error) {
		close(s.features.ended) // now
		return unknown(name)
	})
	if !errors.Is(err, model.ErrNotReady) {
		t.Errorf("opened while it was looked up: %v, want ErrNotReady", err)
	}
	if dropped, err := s.DropCollection("x"); dropped || err != nil {
		t.Errorf("drop: %v, %v", dropped, err)
	}
}
