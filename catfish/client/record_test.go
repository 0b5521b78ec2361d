package client

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/querylog/querylogtest"
	"github.com/catfish-index/catfish/rstar"
)

// recordingServer serves until stop, which ends the recording.
func recordingServer(t *testing.T, opts server.RecordOptions) (s *server.Server, stop func() error) {
	t.Helper()
	s, err := server.NewServer(server.Options{
		SlabBytes: 64 << 20, SocketPath: filepath.Join(t.TempDir(), "s"), Transports: offered,
		Fabric: testFabric, Collections: []string{"roads"}, Record: opts, Logger: quiet(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, catfishtest.Run(t, s)
}

func TestRecordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := server.Options{Transports: []string{model.TransportTCP}, SlabBytes: 1 << 20, Logger: quiet()}
	opts.Record.File = file
	if s, err := server.NewServer(opts); !errors.Is(err, server.ErrRecord) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, %v", s, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
		t.Errorf("%q, %v", b, err)
	}
	opts.Record.File = filepath.Join(file, "below")
	if _, err := server.NewServer(opts); !errors.Is(err, server.ErrRecord) {
		t.Errorf("below a file: %v", err)
	}
	// With Force the file is overwritten; a server that never served removes it.
	opts.Record = server.RecordOptions{File: file, Force: true}
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	if asked, _, _ := querylogtest.ReadFile(t, file); len(asked) > 0 {
		t.Errorf("%d records", len(asked))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
	// A server that could not start removes it, too.
	opts.Listen = "256.0.0.1:0"
	if _, err := server.NewServer(opts); err == nil {
		t.Error("listens")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// TestRecordIdle: a worker's records get into the file although no request follows, and
// its client stays connected.
func TestRecordIdle(t *testing.T) {
	s, _ := recordingServer(t, server.RecordOptions{File: filepath.Join(t.TempDir(), "log")})
	c := dial(t, s, Options{Transport: model.TransportSoft, Policy: "fast"})
	if _, err := c.Search(t.Context(), rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); s.Recording().Records == 0; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatal("nothing is recorded")
		}
	}
}
