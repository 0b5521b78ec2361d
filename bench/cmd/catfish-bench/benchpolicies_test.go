package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/netns"
	benchpolicies "github.com/catfish-index/catfish/bench/policies"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Two candidates, one of another binary, real cells and a simulated one: the
// table, the file of measurements, and which of them a later run reuses.
func TestBenchPolicies(t *testing.T) {
	dir := t.TempDir()
	rows, markdown := filepath.Join(dir, "cells.jsonl"), filepath.Join(dir, "table.md")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"bench", "policies", "--quick", "--objects", "5000", "--cells", `shm, 8 clients, 1e-5|inserts.* 1e-5, 256 clients`,
		"--candidate", "fast", "--candidate", "other=" + exe + ":cost", "--rounds", "2",
		"--json", rows, "--markdown", markdown,
	}
	out := clitest.Succeed(t, args...)
	for _, s := range []string{
		"fast: scheme fast of " + exe, ", the reference", "other: scheme cost of " + exe,
		"real, shm, 8 clients, 1e-5  ", "real, shm, 8 clients, 1e-5, p99 (aside)",
		"simulated, figures 12 and 13, 10 % inserts, 1e-5, 256 clients  ",
		"geometric mean, all (2)", "geometric mean, real (1)", "geometric mean, simulated (1)", "worst cell of other: ",
	} {
		if !strings.Contains(out, s) {
			t.Errorf("does not say %q:\n%s", s, out)
		}
	}
	if strings.Contains(out, "1e-5, 64 clients") || strings.Contains(out, "NOT FINISHED") {
		t.Errorf("shows what was not asked for:\n%s", out)
	}
	b, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 2*2+2 {
		t.Fatalf("%d measurements, want 6:\n%s", len(lines), b)
	}
	for i, line := range lines {
		r := clitest.Decode[benchpolicies.Record](t, line)
		if r.Simulated != (i >= 4) || r.Values[""] <= 0 && r.Values["64 clients"] <= 0 || r.TookS <= 0 ||
			!strings.Contains(r.Args, "--objects 5000") || r.Candidate.Digest == "" || r.Candidate.Commit == "" {
			t.Errorf("measurement %d: %s", i, line)
		}
	}
	md, err := os.ReadFile(markdown)
	if err != nil || !strings.HasPrefix(string(md), "    catfish bench policies --candidate=fast --candidate=other="+exe) ||
		!strings.Contains(string(md), "--cells='shm, 8 clients, 1e-5|inserts.* 1e-5, 256 clients'") ||
		!strings.Contains(string(md), "| cell | fast | unit | other |") {
		t.Errorf("%v\n%s", err, md)
	}
	clitest.Fail(t, cli.ExitUsage, args, rows, "--resume")
	if err := os.WriteFile(rows, b[:len(b)-1], 0o600); err != nil { // The last line is torn.
		t.Fatal(err)
	}
	code, again, errOut := clitest.Program(t, append(args, "--resume")...)
	if code != cli.ExitOK || !strings.Contains(errOut, "5 of 6 measurements are there") || strings.Count(errOut, "\n") != 2 {
		t.Errorf("exit %d\n%s", code, errOut)
	}
	clitest.Fail(t, cli.ExitFailure, append(args, "--resume", "--objects", "6000"), "measured by another build or under other settings", "--objects 5000")
	if again != out { // All measurements but a deterministic simulation were reused.
		t.Errorf("resumed:\n%s\nfirst:\n%s", again, out)
	}
}

func TestBenchPoliciesList(t *testing.T) {
	out := clitest.Succeed(t, "bench", "policies", "--list")
	for _, s := range []string{"real, shm, first second, 1 client, 1e-2 (searches/s)", "through a network of 10 Gbit/s",
		"simulated, figure 14, rea02-like QR3, 64 clients (searches/s)", "    catfish bench step --scale 1e-5"} {
		if !strings.Contains(out, s) {
			t.Errorf("does not list %q:\n%s", s, out)
		}
	}
	if out := clitest.Succeed(t, "bench", "policies", "--list", "--cells", "10000"); strings.Count(out, "\n") != 3 {
		t.Errorf("lists\n%s", out)
	}
}

func TestBenchPoliciesUsage(t *testing.T) {
	for says, args := range map[string]string{
		`no cell matches "moon"`:             "--cells moon",
		"NAME=BINARY:SCHEME":                 "--candidate a=cost",
		"two candidates are called cost":     "--candidate cost --candidate cost",
		"/no/such/catfish":                   "--candidate a=/no/such/catfish:cost",
		`cannot run scheme "quick"`:          "--candidate quick",
		`--reference "b" is none`:            "--candidate cost --reference b",
		"--rounds is 0":                      "--rounds 0",
		"nothing to resume from":             "--cells simulated --resume",
		"regexp":                             "--cells (",
		"--seeds is -1, want 1 or more":      "--seeds -1",
		`--objects is "x", want a whole num`: "--objects x",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "policies"}, strings.Fields(args)...), says)
	}
}

// A run that fails names the candidate and the cell, and shows the end of the
// call's output; it prints and keeps the measurements made before.
func TestBenchPoliciesFails(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "cells.jsonl")
	code, _, errOut := clitest.Program(t, "bench", "policies", "--quick", "--objects", "5000", "--cells", "real, shm, load step, 64 clients, 1e-5",
		"--candidate", "tcp", "--rounds", "1", "--json", rows)
	for _, s := range []string{"candidate tcp", `cell "real, shm, load step, 64 clients, 1e-5"`, "scheme tcp has no one-sided reads"} {
		if code != cli.ExitFailure || !strings.Contains(errOut, s) {
			t.Errorf("exit %d, does not say %q:\n%s", code, s, errOut)
		}
	}
}

// Cells with a network run in namespaces, with any binary. Where none can be
// created, the program says so before it runs anything.
func TestBenchPoliciesNetwork(t *testing.T) {
	args := []string{"bench", "policies", "--quick", "--objects", "5000", "--cells", "1 Gbit/s, 64 clients, 1e-5", "--rounds", "1", "--candidate", "cost"}
	if why := netns.Available(t.Context()); why != nil {
		clitest.Fail(t, cli.ExitFailure, args, why.Error(), "--cells 'shm|simulated'")
		return
	}
	out := clitest.Succeed(t, args...)
	if !strings.Contains(out, "real, soft, 1 Gbit/s, 64 clients, 1e-5  ") || strings.Contains(out, "NOT FINISHED") {
		t.Errorf("prints\n%s", out)
	}
}
