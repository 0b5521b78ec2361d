package catfish

import (
	"errors"
	"testing"
)

// A server alters collections of features, but not those whose options it was started
// with: the next start would refuse them.
func TestAlterFeatures(t *testing.T) {
	fixed, altered := FeaturesOptions{Title: "Fixed"}, FeaturesOptions{Title: "New"}
	o := ServerOptions{DataDir: t.TempDir(), Features: map[string]FeaturesOptions{"fixed": fixed}}
	s := startServer(t, o)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateFeatures("free", FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateCollection("boxes"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"free": nil, "fixed": ErrNotPermitted, "boxes": ErrKind, "nothing": ErrUnknownCollection} {
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
	for name, want := range map[string]FeaturesOptions{"free": altered, "fixed": fixed} {
		if c, err := s.Features(name); err != nil || FeaturesOptions(c.Options()) != want {
			t.Errorf("%s after a restart: %v, want %+v", name, err, want)
		}
	}
}
