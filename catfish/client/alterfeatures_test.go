package client

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// A server alters collections of features, but not those whose options it was started
// with: the next start would refuse them.
func TestAlterFeatures(t *testing.T) {
	fixed, altered := model.FeaturesOptions{Title: "Fixed"}, model.FeaturesOptions{Title: "New"}
	o := server.Options{DataDir: t.TempDir(), Features: map[string]model.FeaturesOptions{"fixed": fixed}}
	s := startServer(t, o)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateFeatures("free", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateCollection("boxes"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"free": nil, "fixed": model.ErrNotPermitted, "boxes": model.ErrKind, "nothing": model.ErrUnknownCollection} {
		if err := s.AlterFeatures(name, altered); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if err := s.AlterFeatures("fixed", fixed); err != nil {
		t.Errorf("to what it is: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = startServer(t, o)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]model.FeaturesOptions{"free": altered, "fixed": fixed} {
		if c, err := s.Features(name); err != nil || model.FeaturesOptions(c.Options()) != want {
			t.Errorf("%s after a restart: %v, want %+v", name, err, want)
		}
	}
}
