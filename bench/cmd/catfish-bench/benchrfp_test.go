package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// The table on standard output, with the rows in a file, or the page in a file; changes
// to the cluster are shown.
func TestBenchRFP(t *testing.T) {
	dir := t.TempDir()
	rows, out := filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "page.md")
	table := clitest.Succeed(t, "bench", "rfp", "--table", "card,texts", "--json", rows)
	for _, want := range []string{"Nothing on this page was measured", "## The card", "## Texts of Weibo", "| 2.11 | 2.11 | 1.00 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	lines := strings.Split(strings.TrimSpace(clitest.ReadFile(t, rows)), "\n")
	for _, line := range lines {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil || row["simulated"] != true || row["printed"] == nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	if len(lines) < 20 {
		t.Errorf("%d rows", len(lines))
	}
	if said := clitest.Succeed(t, "bench", "rfp", "--table", "card,texts", "--out", out); said != "" || clitest.ReadFile(t, out) != table {
		t.Errorf("the page differs from the table; printed %q", said)
	}
	if other := clitest.Succeed(t, "bench", "rfp", "--table", "card", "--set", "server.nic.out_mops=4"); strings.Contains(other, "| 2.11 | 2.11 | 1.00 |") {
		t.Errorf("--set changed nothing:\n%s", other)
	}
}

// --calibrate prints the choice with its reason, or a row for each pair.
func TestBenchRFPCalibrate(t *testing.T) {
	said := clitest.Succeed(t, "bench", "rfp", "--calibrate", "--results", "34,600", "--work", "250")
	for _, want := range []string{"Simulated: --fetch-bytes ", "F: ", "R: the first read finds every answer.", "| 256 | 1 |"} {
		if !strings.Contains(said, want) {
			t.Errorf("lacks %q:\n%s", want, said)
		}
	}
	rows := strings.Split(strings.TrimSpace(clitest.Succeed(t, "bench", "rfp", "--calibrate", "--json", "-")), "\n")
	if len(rows) < 20 || !strings.Contains(rows[0], `"simulated":true`) {
		t.Errorf("%d rows, the first is %s", len(rows), rows[0])
	}
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--calibrate", "--table", "card"}, "--table does nothing with --calibrate")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--results", "5"}, "--results does nothing without --calibrate")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--calibrate", "--results", "-1"}, "a result of -1 bytes")
}

func TestBenchRFPUsage(t *testing.T) {
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--table", "moon"}, `table "moon" is unknown, want some of card, peaks`)
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--set", "server.speed=1"}, "server.speed")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "--set", "server.cores"}, "want KEY=NUMBER")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "rfp", "page.md"}, "page.md")
	bad := filepath.Join(t.TempDir(), "no", "page.md")
	if code, _, said := clitest.Program(t, "bench", "rfp", "--table", "card", "--out", bad); code != cli.ExitFailure || !strings.Contains(said, "--out: open "+bad) ||
		strings.Contains(said, "The card") {
		t.Errorf("--out %s: %d, %s; want an error before anything is simulated", bad, code, said)
	}
}
