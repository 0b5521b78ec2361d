package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/bench/sim"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Rows and table, for two schemes and two numbers of clients; both say
// that they are simulated.
func TestBenchSim(t *testing.T) {
	args := strings.Fields("bench sim --objects 20000 --scale 1e-2 --scheme fast,paper --clients 4,8" +
		" --mix search=90,insert=10 --duration 5ms --warmup 1ms --set server.cores=2 --json -")
	out := clitest.Succeed(t, args...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d rows, want 4:\n%s", len(lines), out)
	}
	for i, line := range lines {
		var r sim.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if !r.Simulated || r.Clients != []int{4, 4, 8, 8}[i] || r.Scheme != []string{"fast", "paper"}[i%2] ||
			r.OpsPerS <= 0 || r.ServerCPUs != "2 (simulated)" || r.ByOp["insert"].Count == 0 {
			t.Errorf("row %d: %s", i, line)
		}
	}
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	args[len(args)-1] = file
	table := clitest.Succeed(t, args...)
	if !strings.Contains(table, "simulated: cluster paper") || strings.Count(table, "\n") != 7 {
		t.Errorf("table:\n%s", table)
	}
	if b, err := os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != 4 {
		t.Errorf("%v\n%s", err, b)
	}
	// Simulated rows cannot serve to fit or check the cluster.
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "sim", "--check", file}, "row 1 is simulated")
}

// TestBenchSimAnswers: --answers reaches the clients of schemes that adapt, and is refused where
// it does nothing.
func TestBenchSimAnswers(t *testing.T) {
	args := strings.Fields("bench sim --objects 20000 --scheme fast,paper --clients 32 --duration 2ms --warmup 1ms --answers --json -")
	lines := strings.Split(strings.TrimSpace(clitest.Succeed(t, args...)), "\n")
	for i, line := range lines {
		var r sim.Row
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Answers != (r.Scheme == "paper") || i > 1 {
			t.Errorf("%v: %s", err, line)
		}
	}
	clitest.Fail(t, cli.ExitUsage, []string{"bench", "sim", "--table", "--answers"}, "--answers does nothing with")
}

// Several groups are a set-up like others; rows and table say how many groups a search asks.
func TestBenchSimGroups(t *testing.T) {
	args := strings.Fields("bench sim --groups 3 --place features --dataset rea02-like --objects 3000 --scale 0.1deg" +
		" --scheme fast,cost --clients 4 --duration 2ms --warmup 1ms")
	var r sim.Row
	line, _, _ := strings.Cut(clitest.Succeed(t, append(args, "--json", "-")...), "\n")
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Groups != 3 || r.Asked != 3 || r.Placing != sim.Features || r.OpsPerS <= 0 {
		t.Errorf("%v: %s", err, line)
	}
	if table := clitest.Succeed(t, args...); !strings.Contains(table, "3 groups of one server each, placed as features; a search asks 3.000") {
		t.Errorf("table:\n%s", table)
	}
	for args, says := range map[string]string{
		"--groups 0":                "--groups is 0, want 1 to 64",
		"--place boxes":             "--place does nothing without --groups",
		"--scale-out --clients 4":   "--clients does nothing with",
		"--scale-out --table":       "want one of them",
		"--scale-out --groups 2":    "--groups does nothing with",
		"--scale-out --duration 1s": "--duration does nothing with --scale-out",
		"--groups 2 --mix search=90,insert=10 --objects 100 --duration 1ms": "10 % inserts in 2 groups",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "sim"}, strings.Fields(args)...), says)
	}
}

func TestBenchSimPlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plots")
	args := strings.Fields("bench sim --objects 20000 --duration 40ms --warmup 1ms --scheme paper,cost --sample 5ms --join-at 10ms --plots " + dir)
	clitest.Fail(t, cli.ExitUsage, append(args, "--clients", "2,4"), "one number of --clients")
	clitest.Fail(t, cli.ExitUsage, append(args, "--clients", "4", "--first", "5"), "want 1 to 4")
	clitest.Succeed(t, append(args, "--clients", "4")...)
	for _, name := range []string{"throughput", "offload-share", "latency", "server-cpu"} {
		b, err := os.ReadFile(filepath.Join(dir, "paper-"+name+"-simulated.svg"))
		if err != nil || !strings.Contains(string(b), "simulated") {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
}

// The paper's numbers, simulated, and their way into the report of real runs,
// in one command each.
func TestBenchSimTable(t *testing.T) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "simulated.jsonl")
	out := clitest.Succeed(t, append(strings.Fields("bench sim --table --objects 5000 --duration 2ms"+
		" --set heartbeat.interval_ns=1e6 --json"), rows)...)
	for _, want := range []string{"Simulated, cluster paper", "| 203.96 |", "| 14.22 |", "| fitted |", "neither fitted nor seen"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
	clitest.Succeed(t, paperArgs(dir, "--figure", "8", "--clients", "1", "--requests", "50", "--simulated", rows)...)
	md := slurp(t, dir, report.MarkdownFile)
	simulated, err := paper.ReadSimulated(strings.NewReader(slurp(t, dir, "simulated.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range paper.Numbers {
		if n.Figure == "2" {
			continue // So few objects do not fill a network, nor 32 clients 28 cores.
		}
		at := slices.IndexFunc(simulated, func(r paper.Simulated) bool {
			return n.Figure == r.Figure && n.Name() == r.Series && n.X == int(r.X) && n.Metric == r.Metric
		})
		if at < 0 {
			t.Fatalf("no simulated value of %s", n.What())
		}
		want := fmt.Sprintf("| %.6g | %v |", n.Value, simulated[at])
		if !strings.Contains(md, want) {
			t.Errorf("the report lacks %q:\n%s", want, md)
		}
	}
}

// measured is a row as bench run prints it, measured elsewhere.
const measured = `{"scheme":"fast","dataset":"uniform","objects":20000,"scale":"1e-5","mix":"search=100",` +
	`"clients":2,"in_flight":16,"ops_per_s":500000,"server_cpu_util":0.95,"simulated":false}` + "\n"

func TestBenchSimFitAndCheck(t *testing.T) {
	rows := clitest.File(t, "rows.jsonl", measured)
	out := clitest.Succeed(t, "bench", "sim", "--cluster", "thismachine", "--fit", rows, "--duration", "2ms")
	if !strings.Contains(out, "server.request_ns = ") || !strings.Contains(out, "ratio 1.0") && !strings.Contains(out, "ratio 0.9") {
		t.Errorf("fit:\n%s", out)
	}
	out = clitest.Succeed(t, "bench", "sim", "--cluster", "thismachine", "--check", rows, "--duration", "2ms")
	if !strings.Contains(out, "| 5e+05 |") || !strings.Contains(out, "Simulated, cluster thismachine") {
		t.Errorf("check:\n%s", out)
	}
}
