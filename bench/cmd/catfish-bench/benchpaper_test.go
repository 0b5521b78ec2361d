package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/bench/report"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/longer"
)

// paperArgs is a run of a few seconds.
func paperArgs(dir string, more ...string) []string {
	return append([]string{"bench", "paper", "--quick", "--objects", "5000", "--requests", "300",
		"--clients", "4", "--network", "host", "--out", dir}, more...)
}

// The report shows each series. `make paper-quick`, which has the machine to itself,
// checks orderings.
func TestBenchPaper(t *testing.T) {
	dir := t.TempDir()
	args := paperArgs(dir)
	code, out, errOut := clitest.Program(t, args...)
	if code != cli.ExitOK {
		t.Fatalf("exit %d\n%s", code, errOut)
	}
	// By experiment panels x series.
	points := 2*1 + 2*2 + 4*2 + 3*8 + 3*8 + 1*8
	titles := []string{"Figure 2:", "Figure 7:", "Figure 8:", "Figure 9:", "Figure 10 and 11:", "Figure 12 and 13:", "Figure 14:"}
	lines := strings.Count(slurp(t, dir, "points.jsonl"), "\n")
	// Figure 9: sizes x operations.
	const micros = 6 * 4
	if !strings.HasPrefix(out, fmt.Sprint(points+micros, " points, ")) || lines != points ||
		strings.Count(slurp(t, dir, "micro.jsonl"), "\n") != micros {
		t.Errorf("printed %q, %d points, want %d", out, lines, points)
	}
	md, page := slurp(t, dir, report.MarkdownFile), slurp(t, dir, report.HTMLFile)
	for _, s := range append(titles, "Catfish (Algorithm 1)", "fast messaging, polling", "offloading, single-issue", "TCP/IP",
		"limited by", "clients on ", "5000 objects") {
		if !strings.Contains(md, s) || !strings.Contains(page, s) {
			t.Errorf("a report lacks %q", s)
		}
	}
	for _, kind := range []string{"throughput", "latency", "cpu", "bandwidth", "cdf", "offload"} {
		for _, ext := range []string{"svg", "png"} {
			slurp(t, dir, "figure-14-rea02-host-shm-"+kind+"."+ext)
		}
	}
	// A second run has nothing left to do, and refuses other settings.
	_, _, errOut = clitest.Program(t, args...)
	if !strings.Contains(errOut, fmt.Sprintf("0 points to measure, %d are there", points+micros)) {
		t.Errorf("a second run says %s", errOut)
	}
	clitest.Fail(t, cli.ExitFailure, append(args, "--seed", "2"), "seed 1, here 2", "--fresh")
}

func slurp(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Ctrl-C keeps the measured points, and the same command continues from there.
func TestBenchPaperInterrupted(t *testing.T) {
	dir := t.TempDir()
	// Each point is an object of at least 1 KB. The pipe to the test has room for 64 KiB,
	// so the program waits long before its last point, until it is interrupted.
	const points = 4 * 2 * 50 // Scales x series x numbers of clients.
	args := []string{"bench", "paper", "--figure", "8", "--clients", upTo(50), "--objects", "1000", "--requests", "1",
		"--network", "host", "--out", dir, "--json"}
	p := clitest.Start(t, args...)
	if first := p.Line(t); len(first) < 1000 {
		t.Fatalf("an object of %d bytes: %s", len(first), first)
	}
	if _, code := p.Interrupt(t); code != cli.ExitFailure || !strings.Contains(p.ErrOut.String(), "goes on from here") {
		t.Errorf("exit %d, says %s", code, p.ErrOut.String())
	}
	if md := slurp(t, dir, report.MarkdownFile); !strings.Contains(md, "NOT FINISHED") {
		t.Errorf("the report does not say that it is not finished:\n%s", md)
	}
	kept := strings.Count(slurp(t, dir, "points.jsonl"), "\n")
	if kept < 1 || kept >= points {
		t.Fatalf("%d points were kept of %d", kept, points)
	}
	// The start of another run, which need not finish, reports it.
	again := clitest.Start(t, args...)
	again.AwaitError(t, fmt.Sprintf("%d points to measure, %d are there", points-kept, kept))
	again.Interrupt(t)
}

// upTo lists the numbers 1 to n for a flag.
func upTo(n int) string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(i+1))
	}
	return strings.Join(list, ",")
}

// A measurement that takes too long is cut; progress, rows and report say so.
func TestBenchPaperDuration(t *testing.T) {
	longer.Measure(t, 50*time.Millisecond, func(d time.Duration) error {
		dir := t.TempDir()
		code, out, errOut := clitest.Program(t, paperArgs(dir, "--figure", "7", "--requests", "100000000",
			"--duration", d.String(), "--json", "--check")...)
		var rows []bench.Row
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			r := clitest.Decode[bench.Row](t, lines.Text())
			if r.Detail.Calls[0] == 0 {
				return errors.New("a point without a call")
			}
			rows = append(rows, r)
		}
		if code != cli.ExitOK {
			t.Fatalf("exit %d\n%s", code, errOut)
		}
		for _, r := range rows {
			if made := r.Detail.Calls[0]; r.Cut == 0 || made+r.Cut != 4*100000000 || r.DurationS != d.Seconds() {
				t.Errorf("made %d, cut %d in %v s", made, r.Cut, r.DurationS)
			}
			if said := fmt.Sprintf("%d of 400000000", r.Detail.Calls[0]); !strings.Contains(errOut, "cut: "+said) ||
				!strings.Contains(slurp(t, dir, report.MarkdownFile), said) {
				t.Errorf("does not say %q:\n%s", said, errOut)
			}
		}
		if md := slurp(t, dir, report.MarkdownFile); !strings.Contains(md, "CUT: 4 of 4 points") || strings.Count(errOut, " left\n") != 3 {
			t.Errorf("says\n%s", errOut)
		}
		clitest.Fail(t, cli.ExitFailure, paperArgs(dir, "--duration", "60ms"), fmt.Sprintf("duration_ns %d, here 60000000", d))
		return nil
	})
}

// needNetworks skips a test on a machine without networks, and says why; where
// nothing may be skipped it fails the test.
func needNetworks(t *testing.T) {
	t.Helper()
	if err := netns.Available(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// noNetworks fails if a run that ended in this process left networks. Tests of other
// packages have networks of their own meanwhile.
func noNetworks(t *testing.T) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil || strings.Contains(string(out), fmt.Sprintf("catfish-%d-", os.Getpid())) {
		t.Errorf("process %d left networks behind: %s, %v", os.Getpid(), out, err)
	}
}

// Ctrl-C during a measurement within a network removes the network.
func TestBenchPaperNetworkInterrupted(t *testing.T) {
	needNetworks(t)
	// Two points; the second takes many seconds at 1 Mbit/s.
	p := clitest.Start(t, "bench", "paper", "--figure", "2", "--network", "1m", "--objects", "5000",
		"--requests", "500", "--clients", "4", "--out", t.TempDir(), "--json")
	p.Line(t)
	if _, code := p.Interrupt(t); code != cli.ExitFailure || !strings.Contains(p.ErrOut.String(), "goes on from here") {
		t.Errorf("exit %d, says %s", code, p.ErrOut.String())
	}
	noNetworks(t)
}

// Wide searches through a narrow network are no faster than the network, and
// leave none of it behind.
func TestBenchPaperNetwork(t *testing.T) {
	needNetworks(t)
	dir := t.TempDir()
	// At 20 Mbit/s any core is faster than the network. There are enough requests
	// that the initial burst of a full bucket matters little.
	out := clitest.Succeed(t, "bench", "paper", "--figure", "2", "--network", "20m", "--objects", "200000",
		"--requests", "600", "--clients", "8", "--out", dir, "--json", "--check")
	var rows []bench.Row
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		rows = append(rows, clitest.Decode[bench.Row](t, lines.Text()))
	}
	wide := slices.IndexFunc(rows, func(r bench.Row) bool { return r.Scale == "1e-2" })
	if len(rows) != 2 || wide < 0 {
		t.Fatalf("rows %+v", rows)
	}
	if r := rows[wide]; r.NetOut <= r.NetIn || r.NetOut > 1.2*20e6/8 || r.Transport != "tcp" {
		t.Errorf("%.0f bytes/s in, %.0f out of %s through 20 Mbit/s", r.NetIn, r.NetOut, r.Transport)
	}
	if md := slurp(t, dir, report.MarkdownFile); !strings.Contains(md, "20 Mbit/s") {
		t.Errorf("the report does not name the network:\n%s", md)
	}
	noNetworks(t)
}

// Where networks cannot be created, a run continues without them and says so,
// unless they were requested by name.
func TestBenchPaperWithoutNetworks(t *testing.T) {
	t.Setenv("PATH", "") // No ip, no tc. Children are started by their path.
	dir := t.TempDir()
	args := []string{"bench", "paper", "--figure", "7", "--objects", "5000", "--requests", "100",
		"--clients", "1", "--out", dir}
	code, out, errOut := clitest.Program(t, args...)
	if code != cli.ExitOK || !strings.HasPrefix(out, "4 points") {
		t.Errorf("exit %d, printed %q, says %s", code, out, errOut)
	}
	for _, network := range []string{"1 Gbit/s", "10 Gbit/s", "40 Gbit/s"} {
		says := "NOT MEASURED: network of " + network + ": no network namespaces: "
		if !strings.Contains(errOut, says) || !strings.Contains(slurp(t, dir, report.MarkdownFile), says) {
			t.Errorf("does not say %q:\n%s", says, errOut)
		}
	}
	clitest.Fail(t, cli.ExitFailure, append(args, "--network", "host,1g"), "--network: no network namespaces")
}

func TestBenchPaperFailures(t *testing.T) {
	dir := t.TempDir()
	sim := clitest.File(t, "sim.json", `{"figure":"99","metric":"times"}`)
	clitest.Fail(t, cli.ExitFailure, paperArgs(dir, "--simulated", sim), "sim.json", `"99"`)
	clitest.Fail(t, cli.ExitFailure, paperArgs(dir, "--simulated", sim+"x"), "--simulated")
	clitest.Fail(t, cli.ExitFailure, paperArgs(dir, "--queries", sim+"x"), "--queries")
	clitest.Fail(t, cli.ExitFailure, paperArgs(dir, "--data", "missing.rec"), "missing.rec")
	clitest.Fail(t, cli.ExitFailure, paperArgs(filepath.Join(sim, "sub")), "sim.json")
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("bad settings left %v", entries)
	}
}
