package papers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// table is a table of a page.
type table struct {
	heading string // the latest one above it
	head    []string
	rows    [][]string
}

// tablesOf are the tables of a page in Markdown.
func tablesOf(text string) (all []table) {
	heading, in := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|---"):
		case strings.HasPrefix(line, "|"):
			if !in {
				all = append(all, table{heading: heading, head: cells(line)})
			} else {
				t := &all[len(all)-1]
				t.rows = append(t.rows, cells(line))
			}
			in = true
			continue
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
		}
		in = in && strings.HasPrefix(line, "|")
	}
	return all
}

func cells(line string) []string {
	c := strings.Split(strings.Trim(line, "|"), "|")
	for i := range c {
		c[i] = strings.TrimSpace(c[i])
	}
	return c
}

// read returns the tables of a page, which is named by its path from docs.
func read(docs, page string) ([]table, error) {
	text, err := os.ReadFile(filepath.Join(docs, filepath.FromSlash(page)))
	if err != nil {
		return nil, fmt.Errorf("papers: %w", err)
	}
	return tablesOf(string(text)), nil
}

// fill adds to the group what other pages say, and resolves rows.
func (g *Group) fill(docs string) error {
	if g.Page == "" {
		return nil
	}
	all, err := read(docs, g.Page)
	if err != nil {
		return err
	}
	if len(g.Numbers) > 0 {
		return g.resolve(all)
	}
	var beside []table
	if g.Beside != "" {
		if beside, err = read(docs, g.Beside); err != nil {
			return err
		}
	}
	for _, t := range all {
		switch {
		case slices.Contains(t.head, "printed") && slices.Contains(t.head, "ratio"):
			for _, r := range t.rows {
				what := r[0]
				if r[1] != "" {
					what += ", " + r[1]
				}
				g.Numbers = append(g.Numbers, Number{What: t.heading + ": " + what, Printed: r[2], Simulated: marked(r[3], r[5])})
			}
		case slices.Equal(t.head[:min(5, len(t.head))], []string{"figure", "what", "paper", "as the paper", "ours"}):
			for _, r := range t.rows {
				n := Number{What: "figure " + r[0] + ", " + r[1], Printed: r[2], Simulated: marked(r[4], r[6])}
				if r[3] != "" {
					n.Simulated = "as the paper " + r[3] + ", ours " + n.Simulated
				}
				if n.Measured, err = measured(beside, r[0], strings.Replace(r[1], " (Algorithm 1)", "", 1)); err != nil {
					return fmt.Errorf("%s: %w", g.Beside, err)
				}
				g.Numbers = append(g.Numbers, n)
			}
		}
	}
	if len(g.Numbers) == 0 {
		return fmt.Errorf("%w: %s has no table of printed numbers", ErrData, g.Page)
	}
	return nil
}

func marked(value, mark string) string {
	if mark == "" {
		return value
	}
	return value + " (" + mark + ")"
}

// measured is a row of the table of a figure: each column that begins with "here".
func measured(all []table, figure, what string) (string, error) {
	for _, t := range all {
		about, _, _ := strings.Cut(t.heading, ":")
		if !slices.Contains(strings.FieldsFunc(about, func(r rune) bool { return r < '0' || r > '9' }), figure) {
			continue
		}
		for _, r := range t.rows {
			if r[0] != what {
				continue
			}
			var values []string
			for i, h := range t.head {
				if here, ok := strings.CutPrefix(h, "here"); ok && r[i] != "not in the published rows" {
					values = append(values, strings.TrimLeft(here, ":, ")+": "+r[i])
				}
			}
			return strings.Join(values, "; "), nil
		}
	}
	return "", fmt.Errorf("%w: no table of figure %s has %q", ErrData, figure, what)
}

// resolve sets what is simulated from rows of the page: the column "simulated", or all after
// the second one.
func (g *Group) resolve(all []table) error {
	for i := range g.Numbers {
		n := &g.Numbers[i]
		for _, t := range all {
			for _, r := range t.rows {
				if n.Row == "" || r[0] != n.Row || !strings.HasPrefix(t.head[0], "simulated") {
					continue
				}
				if i := slices.Index(t.head, "simulated"); i > 0 {
					n.Simulated = r[i]
				} else {
					n.Simulated = t.head[2] + " to " + t.head[len(t.head)-1] + ": " + strings.Join(r[2:], ", ")
				}
			}
		}
		if n.Row != "" && n.Simulated == "" {
			return fmt.Errorf("%w: %s has no simulated row %q", ErrData, g.Page, n.Row)
		}
	}
	return nil
}
