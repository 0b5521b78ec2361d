package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/mongo"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestBenchMongo: each work of each point has a row for each transport, and all documents
// were there and are away again (the run checks this).
func TestBenchMongo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	table := clitest.Succeed(t, "bench", "mongo", "--source", featuresSource, "--transport", "tcp,shm,soft",
		"--records", "20", "--threads", "3", "--each", "5", "--rounds", "2", "--json", path)
	rows := strings.Split(strings.TrimSpace(clitest.ReadFile(t, path)), "\n")
	if len(rows) != 2*len(mongo.Works)*len(mongo.Transports) {
		t.Fatalf("%d rows", len(rows))
	}
	seen := map[string]bool{}
	for _, line := range rows {
		r := clitest.Decode[mongo.Row](t, line)
		if r.Ops <= 0 || r.Mean <= 0 || r.P99 <= 0 || r.Seconds <= 0 || len(r.Runs) != 2 || r.Times <= 0 {
			t.Errorf("%+v", r)
		}
		if r.Transport == "tcp" && (r.Times < .999 || r.Times > 1.001) {
			t.Errorf("tcp is %v times tcp", r.Times)
		}
		if want := map[int][2]int{10: {1, 20}, 11: {3, 15}}[r.Figure]; want != [2]int{r.Threads, r.Records} {
			t.Errorf("figure %d has %d threads, %d documents", r.Figure, r.Threads, r.Records)
		}
		seen[fmt.Sprint(r.Figure, r.Work, r.Transport)] = true
		if !strings.Contains(table, r.Work) {
			t.Errorf("no %q in\n%s", r.Work, table)
		}
	}
	if len(seen) != len(rows) {
		t.Errorf("%d different rows of %d", len(seen), len(rows))
	}
}

// TestBenchMongoFormula: a row for each line of the table.
func TestBenchMongoFormula(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	table := clitest.Succeed(t, "bench", "mongo", "--formula", "--json", path)
	rows := strings.Split(strings.TrimSpace(clitest.ReadFile(t, path)), "\n")
	if lines := strings.Count(table, "\n| "); lines != len(rows) || lines < 10 {
		t.Errorf("%d lines, %d rows", lines, len(rows))
	}
	if r := clitest.Decode[mongo.Size](t, rows[0]); r.Bytes == 0 || r.Printed == 0 {
		t.Errorf("%+v", r)
	}
}

func TestBenchMongoUsage(t *testing.T) {
	for says, args := range map[string]string{
		`transport "ofi"`:           "--transport ofi",
		"records is 0":              "--records 0",
		"threads is 5000":           "--threads 5000",
		"operations of all threads": "--threads 4096 --each 10000",
		"rounds is 0":               "--rounds 0",
		"figure is 12":              "--figure 12",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "mongo", "--source", featuresSource}, strings.Fields(args)...), says)
	}
	bad := filepath.Join(t.TempDir(), "no.osm.pbf")
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "mongo", "--source", bad, "--records", "-1"}, "records is -1, want 1 to 10000000")
	clitest.Fail(t, cli.ExitFailure, []string{"bench", "mongo", "--source", bad}, "no.osm.pbf: no such file")
	clitest.Fail(t, cli.ExitUsage, strings.Fields("bench mongo --formula --figure 10"), "--figure does nothing with --formula")
}
