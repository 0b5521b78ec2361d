package paper

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/store"
)

func openStore(t *testing.T, dir string, s Settings, fresh bool) (*Store, bool) {
	t.Helper()
	st, torn, err := Open(dir, s, fresh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st, torn
}

// A later run finds the points of an earlier one, as long as no setting has
// changed.
func TestStoreResumes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	p := point("search", "1e-5", "fast", 8, 5000)
	stored, _ := openStore(t, dir, settings(), false)
	if stored.Has(p.Key) {
		t.Error("a new store has points")
	}
	if err := stored.Add(p); err != nil || !stored.Has(p.Key) {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, settings(), true); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a second run beside the first: %v", err)
	}
	stored.Close()
	again, torn := openStore(t, dir, settings(), false)
	got := again.All()[p.Key]
	if torn || got.Row.OpsPerS != 5000 || !got.Measured.Equal(p.Measured) || got.Settings != settings() {
		t.Errorf("read back: %+v, torn %v", got, torn)
	}
	again.Close()
	for says, change := range map[string]func(*Settings){
		"objects 1000, here 2000":       func(s *Settings) { s.Objects = 2000 },
		`commit "abc", here "def"`:      func(s *Settings) { s.Commit = "def" },
		`"cpu":"b"`:                     func(s *Settings) { s.Machine.CPU = "b" },
		`server_cpus "", here "0"`:      func(s *Settings) { s.ServerCPUs = "0" },
		`queries "50-150", here "mine"`: func(s *Settings) { s.Queries = "mine" },
		"requests 10, here 11; in_fl":   func(s *Settings) { s.Requests, s.InFlight = 11, 2 },
	} {
		s := settings()
		change(&s)
		if _, _, err := Open(dir, s, false); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
	s := settings()
	s.Objects = 2000
	fresh, _ := openStore(t, dir, s, true)
	if len(fresh.All()) != 0 {
		t.Error("fresh kept points")
	}
}

// A run that was killed while writing a point loses only that point.
func TestStoreTorn(t *testing.T) {
	dir := t.TempDir()
	stored, _ := openStore(t, dir, settings(), false)
	a, b := point("search", "1e-5", "fast", 8, 5000), point("search", "1e-5", "tcp", 8, 1000)
	for _, p := range []Point{a, b} {
		if err := stored.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	stored.Close()
	path := filepath.Join(dir, PointsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	stored, torn := openStore(t, dir, settings(), false)
	if !torn || !stored.Has(a.Key) || stored.Has(b.Key) {
		t.Errorf("torn %v, points %v", torn, stored.All())
	}
	if err := stored.Add(b); err != nil {
		t.Fatal(err)
	}
	stored.Close()
	if now, err := os.ReadFile(path); err != nil || string(now) != string(whole) {
		t.Errorf("after the repair the file differs (%v)", err)
	}
	if _, torn := openStore(t, dir, settings(), false); torn {
		t.Error("still torn")
	}
}

func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, says := range map[string]string{
		"{}\nnonsense\n": "here", "nonsense\n": "line 1", "{\"speed\":1}\n": "speed",
	} {
		if err := os.WriteFile(filepath.Join(dir, PointsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(dir, settings(), false); err == nil || strings.Contains(says, "line") &&
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(file, settings(), false); err == nil {
		t.Error("a file is no directory")
	}
}
