package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/micro"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// microArgs measures figure 9 in a second or two. `make paper-quick` compares
// which operation is slower.
func microArgs(dir string, more ...string) []string {
	return append([]string{"bench", "paper", "--quick", "--figure", "9", "--duration", "5ms", "--out", dir}, more...)
}

func microRows(t *testing.T, out string) []micro.Row {
	t.Helper()
	var rows []micro.Row
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		rows = append(rows, clitest.Decode[paper.MicroPoint](t, lines.Text()).Row)
	}
	return rows
}

// Figure 9 on the host: each operation in each size, plots and tables beside
// the simulated ones; a second run has nothing left to do.
func TestBenchMicro(t *testing.T) {
	dir := t.TempDir()
	sim := filepath.Join(dir, "sim.jsonl")
	table := clitest.Succeed(t, "bench", "sim", "--figure", "9", "--json", sim)
	if !strings.Contains(table, "Figure 9, simulated, cluster paper") || strings.Count(table, "\n") != 4+len(micro.Sizes()) {
		t.Errorf("table:\n%s", table)
	}
	args := microArgs(dir, "--network", "host", "--json", "--simulated", sim)
	rows := microRows(t, clitest.Succeed(t, args...))
	seen := map[string]bool{}
	for _, r := range rows {
		seen[fmt.Sprint(r.Op, r.Transport, r.Bytes)] = true
	}
	for _, over := range []string{"tcptcp", "readshm", "writeshm", "write-onewayshm"} {
		for _, n := range micro.FewSizes() {
			if !seen[fmt.Sprint(over, n)] {
				t.Errorf("no row %s %d", over, n)
			}
		}
	}
	if want := 4 * len(micro.FewSizes()); len(rows) != want || len(seen) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	md := slurp(t, dir, report.MarkdownFile)
	for _, s := range []string{"Figure 9:", "RDMA Read, shm", "RDMA Write, shm", "RDMA Write one way, shm", "TCP/IP", "Rows, one host", "limited by",
		"What the text claims of figure 9", "TCP/IP-40G", "(simulated)", "| read | shm | 8388608 |"} {
		if !strings.Contains(md, s) {
			t.Errorf("the report lacks %q", s)
		}
	}
	for _, name := range []string{"host-latency", "host-throughput", "latency-simulated", "throughput-simulated"} {
		slurp(t, dir, "figure-9-"+name+".svg")
	}
	code, _, errOut := clitest.Program(t, args...)
	if code != cli.ExitOK || !strings.Contains(errOut, "0 points to measure, 24 are there") {
		t.Errorf("a second run: exit %d, says %s", code, errOut)
	}
	clitest.Fail(t, cli.ExitFailure, microArgs(dir, "--network", "host", "--seed", "2"), "micro/host/", "seed 1, here 2", "--fresh")
	// The report keeps all figures that were measured before.
	clitest.Succeed(t, paperArgs(dir, "--figure", "8", "--clients", "1", "--requests", "50", "--fresh")...)
	if md := slurp(t, dir, report.MarkdownFile); strings.Contains(md, "Figure 9:") {
		t.Error("--fresh kept figure 9")
	}
}

// Ctrl-C keeps the measured points, and the same command continues from there.
func TestBenchMicroInterrupted(t *testing.T) {
	dir := t.TempDir()
	// 24 points of 240 ms.
	args := microArgs(dir, "--network", "host", "--json", "--duration", "200ms")
	p := clitest.Start(t, args...)
	p.Line(t)
	if _, code := p.Interrupt(t); code != cli.ExitFailure || !strings.Contains(p.ErrOut.String(), "goes on from here") {
		t.Errorf("exit %d, says %s", code, p.ErrOut.String())
	}
	kept := strings.Count(slurp(t, dir, "micro.jsonl"), "\n")
	if kept < 1 || kept > 23 || !strings.Contains(slurp(t, dir, report.MarkdownFile), "NOT FINISHED") {
		t.Fatalf("%d points were kept of 24", kept)
	}
	again := clitest.Start(t, args...)
	again.Line(t)
	again.Interrupt(t)
	if want := fmt.Sprintf("%d points to measure, %d are there", 24-kept, kept); !strings.Contains(again.ErrOut.String(), want) {
		t.Errorf("does not say %q:\n%s", want, again.ErrOut.String())
	}
}

// The paper's figure: sockets through both Ethernets, Read and Write on the
// host; the networks leave nothing behind.
func TestBenchMicroNetworks(t *testing.T) {
	needNetworks(t)
	dir := t.TempDir()
	rows := microRows(t, clitest.Succeed(t, microArgs(dir, "--network", "host,1g,40g", "--json")...))
	// On the host four lines; in each network tcp, and Read and both kinds of Write
	// over each of its transports.
	lines := 4 + 2*(1+3*len(networkTransports()))
	if want := lines * len(micro.FewSizes()); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	md := slurp(t, dir, report.MarkdownFile)
	for _, s := range []string{"TCP/IP-1G", "TCP/IP-40G", "Rows, 40 Gbit/s", "RDMA Read, soft"} {
		if !strings.Contains(md, s) {
			t.Errorf("the report lacks %q", s)
		}
	}
	for _, name := range []string{"latency", "throughput", "1g-latency", "40g-throughput"} {
		slurp(t, dir, "figure-9-"+name+".png")
	}
	noNetworks(t)
}
