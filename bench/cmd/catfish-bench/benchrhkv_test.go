package main

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/rhkv"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// TestBenchRHKV: a row for each table and share of inserts, and what the processor elides.
func TestBenchRHKV(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	table := clitest.Succeed(t, "bench", "rhkv", "--log2", "8", "--dist", "zipf", "--json", path)
	rows := strings.Split(strings.TrimSpace(clitest.ReadFile(t, path)), "\n")
	if len(rows) != 2*len(rhkv.Shares) {
		t.Fatalf("%d rows", len(rows))
	}
	for _, line := range rows {
		r := clitest.Decode[rhkv.Row](t, line)
		if r.Ops == 0 || r.Dist != "zipf" || r.From != 0.4 || r.To != 0.49 || r.Commit == "" || !strings.Contains(table, r.Table) {
			t.Errorf("%+v", r)
		}
	}
	if !strings.Contains(table, "\nHLE: ") || !strings.Contains(table, "measured") {
		t.Error(table)
	}
}

// TestBenchRHKVFlush: a row for each size of item.
func TestBenchRHKVFlush(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		clitest.Fail(t, cli.ExitUsage, []string{"bench", "rhkv", "--flush"}, "on amd64 only")
		return
	}
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	table := clitest.Succeed(t, "bench", "rhkv", "--flush", "--json", path)
	rows := strings.Split(strings.TrimSpace(clitest.ReadFile(t, path)), "\n")
	if r := clitest.Decode[rhkv.FlushRow](t, rows[0]); len(rows) != 7 || r.Bytes != 64 || r.Commit == "" || !strings.Contains(table, "| 4096 |") {
		t.Errorf("%d rows, %+v:\n%s", len(rows), r, table)
	}
}

func TestBenchRHKVUsage(t *testing.T) {
	for args, says := range map[string]string{
		"--log2 0":            "--log2 is empty or 0",
		"--log2 -1":           "log2 is -1, want 8 to 24",
		"--from 0":            "--from is empty or 0",
		"--from -0.1":         "loads from -0.1 to 0.49",
		"--from 0.45 --to .4": "loads from 0.45 to 0.4, want rising ones",
		"--to 0.6":            "to 0.6, want rising ones, above 0 and to 0.495",
		"--dist even":         `"even"`,
		"--flush --log2 10":   "--log2",
		"--flush --repeat -1": "repeat is -1",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "rhkv"}, strings.Fields(args)...), says)
	}
	bad := filepath.Join(t.TempDir(), "no", "rows.jsonl")
	clitest.Fail(t, cli.ExitFailure, []string{"bench", "rhkv", "--json", bad}, "--json: open "+bad)
}
