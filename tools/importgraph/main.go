// Command importgraph draws which package of this repository imports which,
// those of its other modules too, and fails if an import runs upwards:
//
//	go run ./importgraph [-C DIR] [-levels FILE] [-format text|mermaid] [-all]
//
// levels.txt lists the packages from the top down; an import must lead to a
// lower line. With -levels none nothing is checked, and a package stands above
// all that it imports: for commits with another layout.
//
// An import that also leads there by way of another package is left out of
// the drawing, but not of the check; -all draws it. Imports of tests do not
// count.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed levels.txt
var defaultLevels string

func main() {
	dir := flag.String("C", "..", "root of the `module`")
	levels := flag.String("levels", "", "`file` with the levels, none: do not check (default: levels.txt)")
	format := flag.String("format", "text", "text or mermaid")
	all := flag.Bool("all", false, "draw every import")
	flag.Parse()
	if err := run(os.Stdout, *dir, *levels, *format, *all); err != nil {
		fmt.Fprintln(os.Stderr, "importgraph:", err)
		os.Exit(1)
	}
}

// run draws, then checks: a failure is easier to fix with the drawing.
func run(w io.Writer, dir, levels, format string, all bool) error {
	g, err := load(dir)
	if err != nil {
		return err
	}
	var bad error
	rows := g.heights()
	if levels != "none" {
		text := defaultLevels
		if levels != "" {
			b, err := os.ReadFile(levels)
			if err != nil {
				return err
			}
			text = string(b)
		}
		rows, bad = g.arrange(text)
	}
	shown := g
	if !all {
		shown = g.reduced()
	}
	switch format {
	case "text":
		shown.text(w, rows)
	case "mermaid":
		shown.mermaid(w, rows)
	default:
		return fmt.Errorf("format %q, want text or mermaid", format)
	}
	return bad
}

// graph has the imports of each package, without the root module's path.
type graph map[string][]string

// load lists the packages of the module in dir, and of those in its folders bench and
// test, if there are.
func load(dir string) (graph, error) {
	g := graph{}
	root, err := exec.Command("go", "list", "-C", dir, "-m").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	for _, module := range []string{".", "bench", "coordinator", "test"} {
		path := filepath.Join(dir, module)
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil {
			continue // In commits with another layout it is part of the root module.
		}
		if err := g.list(path, strings.TrimSpace(string(root))+"/"); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// list runs go list in one module, with the tag ofi and without: a file of either kind
// may import a package that the other does not.
func (g graph) list(dir, prefix string) error {
	for _, tags := range []string{"", "ofi"} {
		cmd := exec.Command("go", "list", "-tags", tags, "-f",
			`{{.ImportPath}} {{join .Imports " "}}`, "./...")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		// Listing compiles nothing, so cgo's files need no compiler.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			from, ok := strings.CutPrefix(f[0], prefix)
			if !ok {
				continue // a package at the module's root
			}
			g[from] = append(g[from], nil...)
			for _, path := range f[1:] {
				if to, ok := strings.CutPrefix(path, prefix); ok && !slices.Contains(g[from], to) {
					g[from] = append(g[from], to)
				}
			}
			slices.Sort(g[from])
		}
	}
	return nil
}

// row is one level of the drawing.
type row struct {
	name string
	pkgs []string
}

// arrange puts the packages on the levels of a list, and returns the mistakes
// in either.
func (g graph) arrange(text string) (rows []row, err error) {
	level := map[string]int{}
	var wrong []error
	complain := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		name, list, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		r := row{name: strings.TrimSpace(name)}
		for _, p := range strings.Fields(list) {
			switch _, twice := level[p]; {
			case twice:
				complain("%s is on two levels", p)
			case !g.has(p):
				complain("%s is on level %s, but there is no such package", p, r.name)
			}
			level[p] = len(rows)
			if g.has(p) {
				r.pkgs = append(r.pkgs, p)
			}
		}
		rows = append(rows, r)
	}
	lost := row{name: "no level"}
	for _, p := range g.packages() {
		from, ok := level[p]
		if !ok {
			complain("%s is on no level: say where it belongs", p)
			lost.pkgs = append(lost.pkgs, p)
			continue
		}
		for _, q := range g[p] {
			if to, ok := level[q]; ok && to <= from {
				complain("%s (level %s) imports %s (level %s), which is not below it",
					p, rows[from].name, q, rows[to].name)
			}
		}
	}
	if len(lost.pkgs) > 0 {
		rows = append(rows, lost)
	}
	return rows, errors.Join(wrong...)
}

// heights puts a package one level above the highest that it imports.
func (g graph) heights() []row {
	height := map[string]int{}
	var of func(p string) int
	of = func(p string) int {
		h, ok := height[p]
		if !ok {
			for _, q := range g[p] {
				h = max(h, of(q)+1)
			}
			height[p] = h
		}
		return h
	}
	var rows []row
	for _, p := range g.packages() {
		for h := of(p); len(rows) <= h; {
			rows = append(rows, row{name: fmt.Sprint(len(rows))})
		}
		rows[of(p)].pkgs = append(rows[of(p)].pkgs, p)
	}
	slices.Reverse(rows)
	return rows
}

func (g graph) has(p string) bool { _, ok := g[p]; return ok }

func (g graph) packages() []string {
	var all []string
	for p := range g {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// reaches reports whether p imports q, directly or through others.
func (g graph) reaches(p, q string) bool {
	return slices.ContainsFunc(g[p], func(r string) bool { return r == q || g.reaches(r, q) })
}

// reduced returns the graph without imports that others imply.
func (g graph) reduced() graph {
	less := graph{}
	for p, imports := range g {
		less[p] = nil
		for _, q := range imports {
			if !slices.ContainsFunc(imports, func(r string) bool { return g.reaches(r, q) }) {
				less[p] = append(less[p], q)
			}
		}
	}
	return less
}

func (g graph) text(w io.Writer, rows []row) {
	wide, named := 0, 0
	for _, r := range rows {
		named = max(named, len(r.name))
		for _, p := range r.pkgs {
			wide = max(wide, len(p))
		}
	}
	for _, r := range rows {
		name := r.name
		for _, p := range r.pkgs {
			line := fmt.Sprintf("%-*s  %-*s  %s", named, name, wide, p, strings.Join(g[p], " "))
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			name = ""
		}
	}
}

func (g graph) mermaid(w io.Writer, rows []row) {
	id := func(p string) string { return strings.NewReplacer("/", "_", "-", "_").Replace(p) }
	fmt.Fprintln(w, "graph TD")
	for i, r := range rows {
		fmt.Fprintf(w, "  subgraph level%d [%s]\n", i, r.name)
		for _, p := range r.pkgs {
			fmt.Fprintf(w, "    %s[%s]\n", id(p), p)
		}
		fmt.Fprintln(w, "  end")
	}
	for _, r := range rows {
		for _, p := range r.pkgs {
			for _, q := range g[p] {
				fmt.Fprintf(w, "  %s --> %s\n", id(p), id(q))
			}
		}
	}
}
