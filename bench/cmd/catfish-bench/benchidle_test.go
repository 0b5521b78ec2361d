package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/longer"
)

// TestBenchIdle: the costs of a connection are found on both sides, and the
// table agrees with the rows.
func TestBenchIdle(t *testing.T) {
	longer.Measure(t, 200*time.Millisecond, func(d time.Duration) error { return benchIdle(t, d) })
	for says, args := range map[string]string{
		`transport "ofi"`:   "--transport ofi",
		"0 clients":         "--clients 0",
		"3 processes":       "--clients 2 --client-procs 3",
		"duration 10ms":     "--duration 10ms",
		"so it is never id": "--policy fast-polling",
		`"fst"`:             "--policy fst",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "idle"}, strings.Fields(args)...), says)
	}
}

// benchIdle measures for d. It returns as an error the checks for which d may have been
// too short: no client searched meanwhile, or a file opened for a moment was still open.
func benchIdle(t *testing.T, d time.Duration) (short error) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	table := clitest.Succeed(t, append(strings.Fields("bench idle --clients 21 --client-procs 2 --transport shm,tcp --json"),
		path, "--duration", d.String())...)
	rows := strings.Split(strings.TrimSpace(clitest.ReadFile(t, path)), "\n")
	if len(rows) != 2 {
		t.Fatalf("%d rows, want 2", len(rows))
	}
	for i, want := range []idle.Row{
		// With shm: the socket and the ring, and one read channel to each process.
		{Transport: "shm", Policy: "cost", Server: idle.Cost{Files: 2}, Client: idle.Cost{Files: 2}},
		{Transport: "tcp", Policy: "tcp", Server: idle.Cost{Files: 1}, Client: idle.Cost{Files: 1}},
	} {
		r := clitest.Decode[idle.Row](t, rows[i])
		if r.Transport != want.Transport || r.Policy != want.Policy || r.Clients != 21 || r.Procs != 2 || r.Dialing <= 0 {
			t.Errorf("row %+v", r)
		}
		for side, c := range map[string][2]idle.Cost{"server": {r.Server, want.Server}, "client": {r.Client, want.Client}} {
			// Files that a process opens once, or for a moment, are divided by few
			// connections here.
			if got := c[0].Files; math.Abs(got-c[1].Files) > 0.5 {
				short = errors.Join(short, fmt.Errorf("%s: %.2f descriptors a connection at the %s, want %.0f", r.Transport, got, side, c[1].Files))
			}
			if c[0].Memory == 0 || c[0].Beats <= 0 {
				short = errors.Join(short, fmt.Errorf("%s, %s: %+v", r.Transport, side, c[0]))
			}
			if c[0].Rest < 0 {
				t.Errorf("%s, %s: %v cores at rest", r.Transport, side, c[0].Rest)
			}
		}
	}
	for _, want := range []string{"server", "2 of clients", "KiB/conn.", "CPU at rest", "shm", "tcp"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	return short
}
