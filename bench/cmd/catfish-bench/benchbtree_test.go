package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/btree"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/longer"
)

// TestBenchBTree: rows go where --json says, and a wrong flag is a usage error.
func TestBenchBTree(t *testing.T) {
	longer.Measure(t, 20*time.Millisecond, func(d time.Duration) error {
		out := clitest.Succeed(t, append(strings.Fields("bench btree --scheme local,offload --keys 600 --range 10 --clients 2 --writes 0 --json - --duration"), d.String())...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%d rows:\n%s", len(lines), out)
		}
		r := clitest.Decode[btree.Row](t, lines[1])
		if r.Ops["get"].Count == 0 || r.Compared == 0 {
			return fmt.Errorf("too little in %+v", r)
		}
		if r.Scheme != "offload" || r.Keys != 600 || r.Range != 10 || r.Clients != 2 || r.Wrong != 0 || r.Commit == "" || r.Ops["get"].Trips != 2 {
			t.Errorf("%+v", r)
		}
		return nil
	})
	for says, args := range map[string]string{
		"unknown scheme \"tcp\"":  "--scheme tcp",
		"--keys is empty or 0":    "--keys 0",
		"range is 20, want 1":     "--keys 10 --range 20",
		"writes 90 %":             "--writes 90",
		"unknown transport \"x\"": "--transport x",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "btree"}, strings.Fields(args)...), says)
	}
}
