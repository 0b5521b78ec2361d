package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/kvlocal"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestBenchKVLocal: each command measures, and writes the same rows to the table
// and as JSON.
func TestBenchKVLocal(t *testing.T) {
	for args, want := range map[string]struct {
		rows int
		in   string
	}{
		"get --keys 1000 --ops 100 --rounds 2 --batch 30": {3, "get many of 30"},
		"put --keys 1000 --updates 10000 --parts 4":       {4, "10000"},
		"inserts --inserts 2000 --buckets 64":             {18, "conventional"},
		"load --buckets 64 --seeds 2":                     {6, "gcuckoo"},

		"shards --keys 1000 --ops 2000 --rounds 2 --goroutines 3 --mix A": {3, "pipelined"},
	} {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		table := clitest.Succeed(t, append(strings.Fields("bench kv-local "+args), "--json", path)...)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(string(b)), "\n")
		if len(rows) != want.rows || strings.Count(table, "\n") != want.rows+1 || !strings.Contains(table, want.in) {
			t.Errorf("%s: %d rows of JSON, want %d, with %q\n%s", args, len(rows), want.rows, want.in, table)
		}
		if strings.HasPrefix(args, "put") {
			if r := clitest.Decode[kvlocal.PutRow](t, rows[3]); r.Updates != 10_000 || r.Rate <= 0 || r.Heap == 0 {
				t.Errorf("%+v", r)
			}
		}
	}
	for says, args := range map[string]string{
		"0 keys":      "get --keys 0",
		"20 parts":    "put --updates 10 --parts 20",
		"100 buckets": "load --buckets 100",
		"0 inserts":   "inserts --inserts 0",
		"mix D":       "shards --mix D",
		"latest":      "shards --dist latest",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "kv-local"}, strings.Fields(args)...), says)
	}
}
