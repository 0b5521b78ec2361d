package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/groups"
	"github.com/catfish-index/catfish/bench/netns"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// benchGroups runs a small benchmark, and returns its rows, its table and its Markdown.
func benchGroups(t *testing.T, args string) (rows []groups.Row, table, markdown string) {
	t.Helper()
	tmp, out := withCoordinator(t), t.TempDir()
	file, page := filepath.Join(out, "rows.jsonl"), filepath.Join(out, "page.md")
	table = clitest.Succeed(t, append(strings.Fields("bench groups --members 2 --level received --clients 2 --duration 50ms --warmup 20ms --switches 2 --moves 2 --objects 2000 --entries 320 --json "+
		file+" --table "+page), strings.Fields(args)...)...)
	for line := range strings.Lines(clitest.ReadFile(t, file)) {
		rows = append(rows, clitest.Decode[groups.Row](t, line))
	}
	empty(t, tmp)
	return rows, table, clitest.ReadFile(t, page)
}

// All parts have their rows, no write fails while the primary is switched, and nothing is left.
func TestBenchGroups(t *testing.T) {
	rows, table, page := benchGroups(t, "--network none --rounds 2")
	of := map[string]int{}
	for _, r := range rows {
		of[r.Part]++
		switch {
		case r.Writes != nil:
			checkWrites(t, r.Writes, 2)
		case r.Switch != nil:
			if s := r.Switch; s.Errors != 0 || s.Writes == 0 || len(s.Gaps) != 2 || s.GapMax < s.GapP50 || s.GapP50 <= 0 || s.Longest <= 0 || s.Command <= 0 || s.NoSwitch <= 0 {
				t.Errorf("%+v", s)
			}
		case r.Copy != nil:
			s := r.Copy
			if s.Seconds <= 0 || s.Bytes == 0 || s.MBs <= 0 || s.LaneMBs <= 0 || s.MemoryMBs <= 0 || s.Share <= 0 || s.Writers != (s.Before > 0 && s.During > 0) || s.Errors != 0 {
				t.Errorf("%+v", s)
			}
		case r.Move != nil:
			if m := r.Move; m.Errors != 0 || m.Writes == 0 || m.Members != 2 || len(m.Gaps) != 2 || m.GapMax < m.GapP50 || m.GapP50 <= 0 || m.Others <= 0 || m.OthersMin > m.Others || m.Command <= 0 {
				t.Errorf("%+v", m)
			}
		case r.Lane != nil:
			if l := r.Lane; l.Mean <= 0 || l.Strict <= 0 || l.Answers <= 0 {
				t.Errorf("%+v", l)
			}
		}
		if r.Transport != "shm" && r.Part != groups.Lanes {
			t.Errorf("%+v", r)
		}
	}
	// A server alone and a group of two, of two kinds; one member without writers, one
	// while some do; moves between two groups of two; three ways over two transports, of 1 and 2 followers and 1 and 8 clients.
	if of[groups.Writes] != 4 || of[groups.Switch] != 1 || of[groups.Sync] != 2 || of[groups.Lanes] != 24 || of[groups.Moves] != 1 {
		t.Errorf("rows of parts: %v", of)
	}
	for _, s := range []string{"2 members, received", "longest gap", "share of link", "relaxed", "others' rate"} {
		if !strings.Contains(table, s) || !strings.Contains(page, s) {
			t.Errorf("no %q in\n%s\nor\n%s", s, table, page)
		}
	}
}

func checkWrites(t *testing.T, w *groups.WritesRow, rounds int) {
	t.Helper()
	if w.Ops <= 0 || w.P50 <= 0 || w.P99 < w.P50 || len(w.Runs) != rounds || w.OpsTimes <= 0 || w.MeanTimes <= 0 || w.P50Times <= 0 {
		t.Errorf("%+v", w)
	}
	if w.Members == 0 && (w.OpsTimes != 1 || w.MeanTimes != 1) {
		t.Errorf("a server alone is %v times itself", w.OpsTimes)
	}
}

// In namespaces a packet is late: a write takes two delays at least, and one
// to a group of two takes four.
func TestBenchGroupsNamespaces(t *testing.T) {
	if err := netns.SwitchAvailable(t.Context()); err != nil {
		if os.Getenv("CATFISH_NO_SKIP") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	rows, _, _ := benchGroups(t, "--part writes --network namespaces --delay 20ms --kind records --rounds 1 --duration 400ms")
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		checkWrites(t, r.Writes, 1)
		least := 40_000.
		if r.Writes.Members == 2 {
			least = 80_000
		}
		if r.Transport != "soft" || r.DelayUs != 20_000 || r.Writes.P50 < least {
			t.Errorf("a write takes %v us, want at least %v: %+v", r.Writes.P50, least, r)
		}
	}
}

func TestBenchGroupsUsage(t *testing.T) {
	for says, args := range map[string]string{
		`part "elections"`:        "--part elections",
		"moves is 0":              "--moves 0",
		`network "ofi"`:           "--network ofi",
		`level "written"`:         "--level written",
		`kind "boxes"`:            "--kind boxes",
		"members is 6":            "--members 6",
		"clients is 0":            "--clients 0",
		"delay is 2s":             "--delay 2s",
		"rounds is 0":             "--rounds 0",
		"switches is 0":           "--switches 0",
		"entries is 0":            "--entries 0",
		"objects is 0":            "--objects 0",
		"nothing to measure":      "--level=",
		"--server-cpus":           "--server-cpus x",
		"--client-cpus":           "--client-cpus 5-1",
		"part \"sync\" is listed": "--part sync,sync",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "groups"}, strings.Fields(args)...), says)
	}
}
