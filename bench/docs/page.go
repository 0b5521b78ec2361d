package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/idle"
	"github.com/catfish-index/catfish/bench/replay"
	"github.com/catfish-index/catfish/bench/report"
)

// Page has the contents of the document.
type Page struct {
	Sizes    Sizes
	Settings Settings
	Date     string // of the commit or of the day, as asked for
	Results  map[string]Result
	LeftOut  map[string]string // why, by benchmark
}

// Document makes the page. Benchmarks with missing results show their
// commands, and say so.
func (p *Page) Document() (*report.Document, error) {
	s := p.Sizes
	d := &report.Document{
		Title: "Benchmarks",
		Facts: []report.Fact{
			{Name: "commit", Value: p.Settings.Commit},
			{Name: "date", Value: p.Date},
			{Name: "machine", Value: p.Settings.Machine.String()},
			{Name: "workload", Value: fmt.Sprintf("%s objects, %v measured after %v of warming up; cells are medians of %d runs,"+
				" in brackets the least and the most", whole(float64(s.Objects)), s.Duration, s.Warmup, s.Repeat)},
		},
	}
	if p.Sizes.Objects < Full.Objects {
		d.Warnings = append(d.Warnings, "QUICK: too small and too short to mean anything; a test of the commands only")
	}
	about := report.Section{Heading: "How to read this", Text: []string{
		"This page is made by `make bench-docs`: do not edit it. What earlier commits measured is in" +
			" [benchmarks-history](benchmarks-history.md).",
		"Server and clients are processes of their own, each pinned to its cores. Transport `shm` is shared" +
			" memory and `soft` is TCP on loopback: there is no RDMA hardware here, and nothing is simulated." +
			" Schemes of one table ran by turns, in rounds, every other round backwards, so that a machine that" +
			" changes its speed is the same for all. Compare within a table.",
		"Latencies are of single calls, in microseconds, and include waiting behind the calls of the same" +
			" closed loop. \"Offloaded\" is the share of searches that clients made themselves, \"reads\" are RDMA" +
			" Reads and \"bytes\" requests, answers and reads together, all by search.",
	}}
	d.Sections = append(d.Sections, about)
	var cores string
	for i := range Benchmarks {
		section, where, err := p.section(&Benchmarks[i])
		if err != nil {
			return nil, err
		}
		if cores == "" {
			cores = where
		}
		d.Sections = append(d.Sections, section)
	}
	if cores != "" {
		d.Facts = append(d.Facts, report.Fact{Name: "cores", Value: cores})
	}
	return d, nil
}

// section is one benchmark. where says on which cores it ran, if known.
func (p *Page) section(b *Benchmark) (s report.Section, where string, err error) {
	s.Heading = b.Title
	if b.Text != "" {
		s.Text = append(s.Text, b.Text)
	}
	var outputs []string
	missing := 0
	for _, step := range b.Steps(p.Sizes) {
		if r, ok := p.Results[step.Key]; ok {
			outputs = append(outputs, r.Output)
		} else {
			missing++
		}
	}
	var t report.Table
	switch why := p.LeftOut[b.Name]; {
	case why != "":
		s.Text = append(s.Text, "Not measured: "+why+".")
	case missing > 0:
		s.Text = append(s.Text, fmt.Sprintf("Not finished: %d of %d commands are missing.",
			missing, missing+len(outputs)))
	}
	switch b.Kind {
	case Runs:
		rows, err := rowsOf[bench.Row](outputs)
		if err != nil {
			return s, "", err
		}
		if len(rows) > 0 {
			where = "server on " + harness.Cores(rows[0].ServerCPUs) + ", clients on " + harness.Cores(rows[0].ClientCPUs)
			t = runTable(rows)
			if b.Figure {
				s.Plots = append(s.Plots, throughput(b, rows))
			}
		}
	case Loads:
		rows, err := rowsOf[replay.Row](outputs)
		if err != nil {
			return s, "", err
		}
		if len(rows) > 0 {
			t = loadTable(rows)
		}
	case Trees:
		t = treeTable(outputs)
	case Idles:
		rows, err := rowsOf[idle.Row](outputs)
		if err != nil {
			return s, "", err
		}
		if len(rows) > 0 {
			t = idleTable(rows)
		}
	}
	t.Code = code(b.commands(p.Sizes))
	s.Tables = append(s.Tables, t)
	return s, where, nil
}

// throughput draws calls/s over the number of clients.
func throughput(b *Benchmark, rows []bench.Row) report.Plot {
	plot := report.Plot{
		Name: "benchmarks-" + b.Name, Title: b.Title, X: "clients", Y: "calls/s", LogX: true, FromZero: true,
	}
	lines := map[string]int{}
	for _, r := range rows {
		at, ok := lines[r.Scheme]
		if !ok {
			at = len(plot.Lines)
			lines[r.Scheme] = at
			plot.Lines = append(plot.Lines, report.Line{Name: r.Scheme})
		}
		x := float64(r.Clients)
		plot.Lines[at].Points = append(plot.Lines[at].Points, [2]float64{x, r.OpsPerS})
		if !slices.Contains(plot.Ticks, x) {
			plot.Ticks = append(plot.Ticks, x)
		}
	}
	return plot
}

// codeWidth is where commands are broken.
const codeWidth = 80

// code prints commands as a shell takes them, long ones over several lines.
func code(commands []string) string {
	var lines []string
	for _, c := range commands {
		line := ""
		for _, w := range shellWords(c) {
			switch {
			case line == "":
				line = w
			case len(line)+1+len(w) > codeWidth-2:
				lines = append(lines, line+" \\")
				line = "    " + w
			default:
				line += " " + w
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// shellWords are the parts between which a command may be broken: a flag stays
// with its value, and words with spaces are quoted.
func shellWords(command string) []string {
	var parts []string
	flag := false // The last part is a flag that may have a value.
	for _, w := range Words(command) {
		if name, value, ok := strings.Cut(w, "="); ok && strings.Contains(value, " ") {
			w = name + "='" + value + "'"
		}
		if flag && !strings.HasPrefix(w, "-") {
			parts[len(parts)-1] += " " + w
			flag = false
			continue
		}
		parts = append(parts, w)
		flag = strings.HasPrefix(w, "--") && !strings.Contains(w, "=")
	}
	return parts
}
