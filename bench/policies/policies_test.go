package policies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/longer"
)

func cells() []Cell { return Cells(affinity.Set{0}, affinity.Set{1}) }

func TestParseCandidates(t *testing.T) {
	for text, want := range map[string]Candidate{
		"cost":                        {Name: "cost", Binary: "self", Scheme: "cost"},
		"old=/opt/old/catfish:paper":  {Name: "old", Binary: "/opt/old/catfish", Scheme: "paper"},
		"no step=bin/a:b=c/catfish:x": {Name: "no step", Binary: "bin/a:b=c/catfish", Scheme: "x"},
	} {
		if got, err := ParseCandidate(text, "self"); got != want || err != nil {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a:b", "bin/catfish", "=bin:cost", "a=", "a=bin", "a=:cost", "a=bin:"} {
		if c, err := ParseCandidate(text, "self"); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "NAME=BINARY:SCHEME") {
			t.Errorf("%q is %+v, %v", text, c, err)
		}
	}
	all, err := ParseCandidates([]string{"cost", "paper", "old=b:cost"}, "self")
	if err != nil || len(all) != 3 || all[2].Name != "old" {
		t.Errorf("%+v, %v", all, err)
	}
	for _, texts := range [][]string{nil, {"cost", "cost"}, {"cost", "cost=b:paper"}} {
		if _, err := ParseCandidates(texts, "self"); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", texts, err)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestRatios(t *testing.T) {
	if r := meanOf(nil); r != (Ratio{}) {
		t.Errorf("of nothing: %+v", r)
	}
	if r := meanOf([]float64{1.5}); !near(r.Times, 1.5) || r.Err != 0 || r.N != 1 || r.Differs() {
		t.Errorf("of one: %+v", r)
	}
	// Logarithms 0 and 2 ln 2: mean ln 2, deviation sqrt(2) ln 2, of which
	// the standard error is ln 2.
	if r := meanOf([]float64{1, 4}); !near(r.Times, 2) || !near(r.Err, 2*math.Ln2) || r.Differs() {
		t.Errorf("of two: %+v", r)
	}
	if r := meanOf([]float64{1.1, 1.1001, 1.0999}); !r.Differs() {
		t.Errorf("of three that agree: %+v", r)
	}
	if r := meanOf([]float64{0.9, 0.9001}); !r.Differs() {
		t.Errorf("of two that agree: %+v", r)
	}
	lines := meanOfLines([]Ratio{{Times: 2, Err: 0.2, N: 3}, {Times: 0.5, N: 1}})
	if !near(lines.Times, 1) || !near(lines.Err, 0.05) || lines.N != 2 {
		t.Errorf("of lines: %+v", lines)
	}
	if r := meanOfLines(nil); r != (Ratio{}) {
		t.Errorf("of no lines: %+v", r)
	}
}

// The output of the program's commands is read by key; other keys do not
// matter.
func TestMetrics(t *testing.T) {
	rows, err := readRows([]byte(`{"scheme":"x","ops_per_s":5,"p99_us":7,"by_op":{}}
{"ops_per_s":6,"step_at_s":1,"series":[{"at_s":0.5,"ops_per_s":1},{"at_s":1.02,"ops_per_s":2},
{"at_s":1.1,"ops_per_s":10},{"at_s":1.2,"ops_per_s":40},{"at_s":2.2,"ops_per_s":100}]}
{"join_at_s":0.5,"series":[{"at_s":0.5,"ops_per_s":1},{"at_s":1,"ops_per_s":3}]}`))
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	step := func(row int, from, to time.Duration) Metric {
		return Metric{Of: throughputOver, Row: row, From: from, To: to}
	}
	for i, c := range []struct {
		m    Metric
		want float64
	}{
		{Metric{Of: throughput}, 5},
		{Metric{Of: throughput, Row: 1}, 6},
		{Metric{Of: latency99}, 7},
		{step(1, 0, 100*time.Millisecond), 10},
		{step(1, 0, 200*time.Millisecond), (10*0.08 + 40*0.1) / 0.18},
		{step(2, 0, time.Hour), 3},
	} {
		if v, err := c.m.read(rows); err != nil || !near(v, c.want) {
			t.Errorf("%d: %v, %v, want %v", i, v, err, c.want)
		}
	}
	for _, m := range []Metric{{Row: 3}, {Of: throughput, Row: 2}, step(1, 5*time.Second, time.Hour)} {
		if v, err := m.read(rows); err == nil {
			t.Errorf("%+v is %v", m, v)
		}
	}
	if _, err := readRows([]byte("panic: no rows")); err == nil {
		t.Error("text is read as rows")
	}
}

// The cells hang together: names are unique and say what is simulated, and
// the harness reads the flags of those that it runs itself.
func TestCells(t *testing.T) {
	lines := map[string]bool{}
	for _, c := range cells() {
		if strings.HasPrefix(c.Name, "simulated, ") != c.Simulated || strings.HasPrefix(c.Name, "real, ") == c.Simulated {
			t.Errorf("%s is simulated: %v", c.Name, c.Simulated)
		}
		if c.Simulated != (c.Args[1] == "sim") {
			t.Errorf("%s runs %v", c.Name, c.Args)
		}
		for i := range c.Metrics {
			line := c.Line(&c.Metrics[i])
			if lines[line] || c.Metrics[i].Unit == "" {
				t.Errorf("line %q: twice, or without unit", line)
			}
			lines[line] = true
		}
		if c.Gbits > 0 {
			cfg, err := runConfig(c.command("cost", c.sized(5000, true), 1))
			if err != nil || cfg.Clients != 64 || cfg.InFlight != 1 || cfg.Objects != 5000 || cfg.Transport != "soft" ||
				cfg.Schemes[0] != "cost" || cfg.Duration != quickDuration || cfg.Seed != 1 ||
				cfg.ServerCPUs.String() != "0" || cfg.ClientCPUs.String() != "1" {
				t.Errorf("%s: %+v, %v", c.Name, cfg, err)
			}
		}
	}
	for _, bad := range []string{"bench sim", "bench run --no-such 1", "bench run x", "bench run --mix a", "bench run --server-cpus x"} {
		if _, err := runConfig(strings.Fields(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestSelect(t *testing.T) {
	if all, err := Select(cells(), ""); err != nil || len(all) != len(cells()) {
		t.Errorf("%d cells, %v", len(all), err)
	}
	some, err := Select(cells(), `QR2, 64|step.*0 to 0\.1`)
	if err != nil || len(some) != 4 {
		t.Fatalf("%d cells, %v", len(some), err)
	}
	for _, c := range some {
		shown := slices.IndexFunc(c.Metrics, func(m Metric) bool { return !m.hidden })
		if shown != 0 || len(c.Metrics) != 3 || !c.Metrics[1].hidden {
			t.Errorf("%+v", c)
		}
	}
	for _, pattern := range []string{"no such cell", "("} {
		if _, err := Select(cells(), pattern); !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestSized(t *testing.T) {
	find := func(name string) *Cell {
		all := cells()
		return &all[slices.IndexFunc(all, func(c Cell) bool { return strings.Contains(c.Name, name) })]
	}
	for name, want := range map[string][2]string{
		"real, shm, 8 clients": {"--duration 1s --warmup 700ms --objects 7", "--duration 100ms --warmup 50ms --objects 7"},
		"first second":         {"--duration 1s --warmup 1ms --objects 7", "--duration 100ms --warmup 1ms --objects 7"},
		"shm, load step":       {"--duration 4s --sample 50ms --objects 7", "--duration 4s --sample 50ms --objects 7"},
		"10000":                {"--clients 10000 --warmup 100ms --duration 50ms --objects 7", "--clients 200 --warmup 50ms --duration 50ms --objects 7"},
	} {
		c := find(name)
		for i, quick := range []bool{false, true} {
			if got := strings.Join(c.sized(7, quick), " "); !strings.HasSuffix(got, want[i]) {
				t.Errorf("%s: %s, want %s", name, got, want[i])
			}
		}
	}
	got := strings.Join(find("10000").command("cost", []string{"bench", "sim"}, 3), " ")
	if got != "bench sim --scheme cost --seed 3 --json -" {
		t.Errorf("command is %s", got)
	}
}

// The error of a failed call has its last output; a call that hangs is ended.
func TestCall(t *testing.T) {
	out, err := call(t.Context(), time.Minute, "/bin/sh", []string{"-c", "echo hello; echo note >&2"})
	if err != nil || string(out) != "hello\n" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = call(t.Context(), time.Minute, "/bin/sh", []string{"-c", "seq 30 >&2; exit 3"})
	if err == nil || !strings.Contains(err.Error(), "exit status 3:\n23\n") || !strings.Contains(err.Error(), "\n30\n") {
		t.Errorf("a failing call: %v", err)
	}
	// A limit of 50 ms, if the shell begins in it.
	longer.Measure(t, 50*time.Millisecond, func(d time.Duration) error {
		_, err := call(t.Context(), d, "/bin/sh", []string{"-c", "echo begun >&2; exec sleep 600"})
		if err == nil || !strings.Contains(err.Error(), "not done after "+d.String()+":\nbegun") {
			return fmt.Errorf("a hanging call: %w", err)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = call(ctx, time.Minute, "/bin/sh", []string{"-c", "exec sleep 600"}); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted call: %v", err)
	}
}

func TestCheck(t *testing.T) {
	for says, c := range map[string]Candidate{
		"no such file":   {Name: "a", Binary: "/no/such/catfish", Scheme: "cost"},
		"is a directory": {Name: "a", Binary: t.TempDir(), Scheme: "cost"},
		"printed 0 rows": {Name: "a", Binary: "/bin/true", Scheme: "cost"},
		"exit status 1":  {Name: "a", Binary: "/bin/false", Scheme: "cost"},
	} {
		if err := c.Check(t.Context()); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "candidate a") {
			t.Errorf("%+v: %v, want %q", c, err, says)
		}
	}
}

// canned is a comparison of three candidates over four small cells.
func canned() *Comparison {
	c := &Comparison{
		Rounds: 3, Seeds: 1, Objects: 10, Store: &Store{}, Note: func(string) {},
		Candidates: []Candidate{
			{Name: "base", Binary: "/old/catfish", Scheme: "paper", Digest: "0123456789abcdef", Commit: "1111111"},
			{Name: "new", Binary: "/new/catfish", Scheme: "cost", Digest: "fedcba9876543210", Commit: "2222222"},
			{Name: "ablated", Binary: "/less/catfish", Scheme: "cost", Digest: "00000000000000000", Commit: "2222222"},
		},
	}
	for _, name := range []string{"real, one", "real, two", "simulated, one", "simulated, two"} {
		cell := Cell{Name: name, Simulated: strings.HasPrefix(name, "s"), Args: strings.Fields("bench run"),
			Metrics: []Metric{{Unit: "searches/s"}}}
		if name == "real, one" {
			cell.Metrics = append(cell.Metrics, Metric{Label: "p99", Unit: "us", Lower: true, Aside: true})
		}
		if name == "simulated, one" {
			cell.Metrics[0] = Metric{Label: "p99", Unit: "us", Lower: true}
		}
		c.Cells = append(c.Cells, cell)
	}
	n := 0.0
	c.measure = func(_ context.Context, cand *Candidate, cell *Cell, args []string, _ time.Duration) (map[string]float64, error) {
		if want := "bench run --objects 10 --scheme " + cand.Scheme; !strings.HasPrefix(strings.Join(args, " "), want) {
			return nil, fmt.Errorf("%v, want %s", args, want)
		}
		n++
		v := map[string]float64{}
		for _, m := range cell.Metrics {
			v[m.Label] = 1000 + n // The machine gets faster.
			if m.Lower {
				v[m.Label] = 10
			}
			switch {
			case cand.Name == "new" && m.Lower:
				v[m.Label] = 8
			case cand.Name == "new":
				v[m.Label] *= 1.1
			case cand.Name == "ablated" && cell.Name == "real, two":
				v[m.Label] *= 0.9 + 0.2*float64(int(n)%2)
			}
		}
		return v, nil
	}
	return c
}

// golden compares with a file under testdata. To rewrite it on purpose,
// copy what the failure prints.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile("testdata/" + file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (%v): got\n%s\nwant\n%s", file, err, got, want)
	}
}

func TestTable(t *testing.T) {
	c := canned()
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	table, err := c.Table("catfish bench policies --rounds=3")
	if err != nil || table.Missing != 0 {
		t.Fatalf("%+v, %v", table, err)
	}
	var text, markdown bytes.Buffer
	if err := errors.Join(table.Write(&text), table.WriteMarkdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	golden(t, "table.txt", text.Bytes())
	golden(t, "table.md", markdown.Bytes())
	// Another reference inverts the ratios.
	c.Reference = 1
	other, err := c.Table("")
	if err != nil || !near(other.Lines[0].Ratios[0].Times*table.Lines[0].Ratios[1].Times, 1) || other.Lines[0].Ratios[1].Times != 1 {
		t.Errorf("%+v, %v", other.Lines[0], err)
	}
}

// Each candidate begins as often as any other, in each cell and in each round.
func TestOrder(t *testing.T) {
	c := canned()
	c.Cells = c.Cells[:2]
	var order []string
	for i, task := range c.tasks() {
		if i%3 == 0 {
			order = append(order, task.candidate.Name)
		}
		if task.cell != &c.Cells[i/3%2] || task.round != i/6+1 {
			t.Errorf("task %d is of %s, round %d", i, task.cell.Name, task.round)
		}
	}
	if got := strings.Join(order, " "); got != "new ablated ablated base base new" {
		t.Errorf("first in each cell: %s", got)
	}
}

// An interrupted run continues from its last record, also if a line is unfinished.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	open := func(c *Comparison, resume bool) {
		t.Helper()
		var err error
		if c.Store, err = OpenStore(file, resume); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Store.Close() })
	}
	c := canned()
	open(c, false)
	if _, err := OpenStore(file, true); err == nil {
		t.Error("two runs use one file")
	}
	whole, left := c.measure, 5
	broken := errors.New("the machine is on fire")
	c.measure = func(ctx context.Context, cand *Candidate, cell *Cell, args []string, limit time.Duration) (map[string]float64, error) {
		if left--; left < 0 {
			return nil, broken
		}
		return whole(ctx, cand, cell, args, limit)
	}
	err := c.Run(t.Context())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), `candidate new, cell "real, two", round 1`) {
		t.Errorf("says %v", err)
	}
	table, err := c.Table("")
	if err != nil || table.Missing != 24-5 {
		t.Fatalf("%+v, %v", table, err)
	}
	var text bytes.Buffer
	if err := table.Write(&text); err != nil || !strings.Contains(text.String(), "NOT FINISHED: 19 measurements are missing") {
		t.Errorf("%v\n%s", err, &text)
	}
	c.Store.Close()

	// A killed run may leave half a line.
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"cell":"real, tw`)
	f.Close()
	if _, err := OpenStore(file, false); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("a file that is there: %v", err)
	}
	c = canned()
	open(c, true)
	if len(c.Store.Records) != 5 {
		t.Fatalf("%d records, want 5", len(c.Store.Records))
	}
	whole, calls := c.measure, 0
	c.measure = func(ctx context.Context, cand *Candidate, cell *Cell, args []string, limit time.Duration) (map[string]float64, error) {
		calls++
		return whole(ctx, cand, cell, args, limit)
	}
	if err := c.Run(t.Context()); err != nil || calls != 24-5 {
		t.Errorf("%d calls, %v", calls, err)
	}
	c.Store.Close()

	// All records exist; and with another round only its own are missing.
	open(c, true)
	calls, c.Rounds = 0, 4
	if err := c.Run(t.Context()); err != nil || calls != 6 {
		t.Errorf("%d calls for another round, %v", calls, err)
	}
	c.Candidates[2].Digest = "another"
	if err := c.Run(t.Context()); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "build") {
		t.Errorf("another build: %v", err)
	}
	c.Candidates[2].Digest, c.Objects = c.Store.Records[0].Candidate.Digest, 11
	if err := c.Run(t.Context()); !errors.Is(err, ErrOther) {
		t.Errorf("another size: %v", err)
	}
}

func TestStoreRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenStore("", true); !errors.Is(err, ErrUsage) {
		t.Errorf("resume without a file: %v", err)
	}
	if _, err := OpenStore(filepath.Join(dir, "no", "file"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	foreign := filepath.Join(dir, "rows")
	if err := os.WriteFile(foreign, []byte("{\"scheme\":\"cost\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(foreign, true); err == nil || !strings.Contains(err.Error(), "unknown line 1") {
		t.Errorf("other rows: %v", err)
	}
	// A refused file is unchanged.
	if b, err := os.ReadFile(foreign); err != nil || len(b) != 18 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestTimeLeft(t *testing.T) {
	c := canned()
	left := c.tasks()
	if d := c.timeLeft(left); d != 0 {
		t.Errorf("before the first: %v", d)
	}
	c.Store.Records = []Record{{Cell: "real, one", TookS: 2}, {Cell: "simulated, one", Simulated: true, TookS: 10}}
	// 18 real ones, by their cell or their kind, and 6 simulated ones.
	if d := c.timeLeft(left); d != (18*2+6*10)*time.Second {
		t.Errorf("%v left", d)
	}
}
