//go:build linux && servers

package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Tag servers requires PostGIS, wrk and bin/catfish: a missing one is a
// failure. Tile38 is measured if HTTPPEERS_TILE38 names its program.

// TestMain makes this test binary a handler, as main does.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == handlerArg {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each peer's answers to each work match the places, and nothing remains.
func TestRun(t *testing.T) {
	t.Chdir("..") // The flags' defaults are paths from the module's directory.
	top := os.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	// PostgreSQL's user must be able to enter its directory.
	for dir := os.Getenv("TMPDIR"); dir != top && len(dir) > 5; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	args := []string{"--features", "10000", "--rounds", "2", "--duration", "1s", "--warmup", "0s", "--connections", "4", "--json", file}
	if program := os.Getenv("HTTPPEERS_TILE38"); program != "" {
		args = append(args, "--tile38", program)
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	var table strings.Builder
	if err := command(ctx, args, &table, t.Output()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.RequestsPerS <= 0 || r.P99Us < r.P50Us || r.Bytes <= 0 || r.Features <= 0 || r.Version == "" {
			t.Errorf("%+v", r)
		}
		if !strings.Contains(table.String(), r.Peer) {
			t.Errorf("the table is without %s: %s", r.Peer, table.String())
		}
		seen[r.Work+" "+r.Peer] = true
	}
	for _, work := range allWorks {
		if !seen[work+" catfish"] || !seen[work+" postgis"] {
			t.Errorf("%s: rows of %v", work, seen)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "httppeers-*")); len(left) > 0 || err != nil {
		t.Errorf("%q remain, %v", left, err)
	}
}
