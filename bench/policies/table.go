package policies

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table compares candidates with the reference, line by line.
type Table struct {
	Command    string // that made the table
	Candidates []Candidate
	Reference  int // index in Candidates
	Lines      []Line
	// Missing counts the missing measurements.
	Missing int
}

// Line is a metric of a cell.
type Line struct {
	Name             string
	Unit             string
	Simulated, Aside bool
	Base             float64 // of the reference; geometric mean
	Ratios           []Ratio // by candidate
}

// NewTable compares the records.
func NewTable(command string, candidates []Candidate, reference int, cells []Cell, records []Record) *Table {
	t := &Table{Command: command, Candidates: candidates, Reference: reference}
	type key struct {
		cell, candidate string
		round           int
	}
	values, last := map[key]map[string]float64{}, 0
	for _, r := range records {
		values[key{r.Cell, r.Candidate.Name, r.Round}] = r.Values
		last = max(last, r.Round)
	}
	for i := range cells {
		c := &cells[i]
		for j := range c.Metrics {
			m := &c.Metrics[j]
			if m.hidden {
				continue
			}
			line := Line{Name: c.Line(m), Unit: m.Unit, Simulated: c.Simulated, Aside: m.Aside}
			var bases []float64
			ratios := make([][]float64, len(candidates))
			for round := 1; round <= last; round++ {
				base, ok := values[key{c.Name, candidates[reference].Name, round}][m.Label]
				if !ok {
					continue
				}
				bases = append(bases, base)
				for k := range candidates {
					if v, ok := values[key{c.Name, candidates[k].Name, round}][m.Label]; ok {
						r := v / base
						if m.Lower {
							r = base / v
						}
						ratios[k] = append(ratios[k], r)
					}
				}
			}
			line.Base = meanOf(bases).Times
			for _, r := range ratios {
				line.Ratios = append(line.Ratios, meanOf(r))
			}
			t.Lines = append(t.Lines, line)
		}
	}
	return t
}

// kinds of lines that have a mean of their own.
var kinds = []struct {
	name string
	has  func(*Line) bool
}{
	{"all", func(*Line) bool { return true }},
	{"real", func(l *Line) bool { return !l.Simulated }},
	{"simulated", func(l *Line) bool { return l.Simulated }},
}

// Mean is the geometric mean over those lines that were compared and are not
// aside.
func (t *Table) Mean(candidate int, has func(*Line) bool) Ratio {
	var lines []Ratio
	for i := range t.Lines {
		l := &t.Lines[i]
		if r := l.Ratios[candidate]; r.N > 0 && !l.Aside && has(l) {
			lines = append(lines, r)
		}
	}
	return meanOfLines(lines)
}

// Worst is the line with the smallest ratio; nil without any.
func (t *Table) Worst(candidate int) *Line {
	var worst *Line
	for i := range t.Lines {
		l := &t.Lines[i]
		if r := l.Ratios[candidate]; r.N > 0 && !l.Aside &&
			(worst == nil || r.Times < worst.Ratios[candidate].Times) {
			worst = l
		}
	}
	return worst
}

func (r Ratio) text(mark bool) string {
	switch {
	case r.N == 0:
		return "-"
	case r.Err == 0:
		return fmt.Sprintf("%.3f", r.Times)
	}
	return fmt.Sprintf("%.3f +- %.3f%s", r.Times, r.Err, when(mark && r.Differs(), " *"))
}

// cells of the printed table, the heading first.
func (t *Table) cells() [][]string {
	others := func(f func(i int) string) []string {
		var s []string
		for i := range t.Candidates {
			if i != t.Reference {
				s = append(s, f(i))
			}
		}
		return s
	}
	name := t.Candidates[t.Reference].Name
	rows := [][]string{append([]string{"cell", name, "unit"}, others(func(i int) string { return t.Candidates[i].Name })...)}
	for i := range t.Lines {
		l := &t.Lines[i]
		base := "-"
		if l.Base > 0 {
			base = fmt.Sprintf("%.4g", l.Base)
			if l.Base >= 1000 {
				base = fmt.Sprintf("%.0f", l.Base)
			}
		}
		rows = append(rows, append([]string{l.Name + when(l.Aside, " (aside)"), base, l.Unit},
			others(func(i int) string { return l.Ratios[i].text(true) })...))
	}
	for _, k := range kinds {
		lines := t.Mean(t.Reference, k.has).N
		if lines == 0 {
			continue
		}
		rows = append(rows, append([]string{fmt.Sprintf("geometric mean, %s (%d)", k.name, lines), "1", ""},
			others(func(i int) string { return t.Mean(i, k.has).text(false) })...))
	}
	return append(rows, append([]string{"worst cell, see below", "", ""}, others(func(i int) string {
		if l := t.Worst(i); l != nil {
			return l.Ratios[i].text(true)
		}
		return "-"
	})...))
}

// worst has a line for each compared candidate.
func (t *Table) worst() []string {
	var lines []string
	for i, c := range t.Candidates {
		if l := t.Worst(i); l != nil && i != t.Reference {
			lines = append(lines, fmt.Sprintf("worst cell of %s: %s, %s", c.Name, l.Name, l.Ratios[i].text(false)))
		}
	}
	return lines
}

// legend explains the table.
func (t *Table) legend() string {
	return fmt.Sprintf("Ratios to %s within rounds: geometric mean +- standard error; more is better everywhere."+
		" * is further from 1 than twice its standard error. What is aside is in no mean.%s",
		t.Candidates[t.Reference].Name,
		when(t.Missing > 0, fmt.Sprintf(" NOT FINISHED: %d measurements are missing.", t.Missing)))
}

// about has a line for each candidate.
func (t *Table) about() []string {
	var lines []string
	for i, c := range t.Candidates {
		lines = append(lines, fmt.Sprintf("%s: scheme %s of %s, commit %s, file %.12s%s", c.Name, c.Scheme, c.Binary, c.Commit, c.Digest,
			when(i == t.Reference, ", the reference")))
	}
	return lines
}

// Write writes the table for a terminal.
func (t *Table) Write(w io.Writer) error {
	for _, line := range t.about() {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "%s\n\n", t.legend())
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range t.cells() {
		fmt.Fprintln(tab, strings.Join(row, "\t"))
	}
	if err := tab.Flush(); err != nil {
		return fmt.Errorf("policies: writing the table: %w", err)
	}
	fmt.Fprintln(w)
	for _, line := range t.worst() {
		fmt.Fprintln(w, line)
	}
	return nil
}

// WriteMarkdown writes the table with the command that made it.
func (t *Table) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "    %s\n\n", t.Command)
	for _, line := range t.about() {
		fmt.Fprintf(w, "- %s\n", line)
	}
	fmt.Fprintf(w, "\n%s\n\n", strings.ReplaceAll(t.legend(), "*", `\*`))
	for i, row := range t.cells() {
		text := strings.ReplaceAll(strings.Join(row, " | "), "*", `\*`)
		fmt.Fprintf(w, "| %s |\n%s", text, when(i == 0, "|"+strings.Repeat("---|", len(row))+"\n"))
	}
	fmt.Fprintln(w)
	var failed error
	for _, line := range t.worst() {
		_, failed = fmt.Fprintf(w, "- %s\n", line)
	}
	if failed != nil {
		return fmt.Errorf("policies: writing the table: %w", failed)
	}
	return nil
}
