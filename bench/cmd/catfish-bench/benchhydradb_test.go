package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/hydradb"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Figure 12 prints a row for each mix and panel, each of which says that it is simulated and how
// keys are placed.
func TestBenchHydraDBScale(t *testing.T) {
	out := clitest.Succeed(t, strings.Fields("bench hydradb --figure 12 --ring 64 --json -")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d rows, want 12:\n%s", len(lines), out)
	}
	for _, line := range lines {
		var r hydradb.ScaleRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if !r.Simulated || r.Placement != "ring of 64 points" || r.Times[0] != 1 || len(r.Mops) < 7 {
			t.Errorf("row: %s", line)
		}
	}
}

func TestBenchHydraDBErrors(t *testing.T) {
	for args, says := range map[string]string{
		"--figure 11":              `--figure is "11", want 10, 12 or 13`,
		"--ring 8":                 "--ring with --figure 13",
		"--figure 12 --ring -1":    "--ring is -1, want 0 to 4096",
		"--figure 12 --ring 10000": "--ring is 10000, want 0 to 4096",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "hydradb"}, strings.Fields(args)...), says)
	}
}
