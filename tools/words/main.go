// Command words counts phrases that comments of this repository avoid
// (phrases.txt), by package, and fails if there are more than --most in 1,000
// words of a package:
//
//	go run ./words [-C DIR] [--most 1] [--show] [PACKAGE ...]
//
// It looks at comments of Go files, of tests too, but not of generated files.
// --show prints each occurrence with what to write instead.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed phrases.txt
var phrasesText string

// phrase is a pattern and its replacement.
type phrase struct {
	pattern *regexp.Regexp
	instead string
}

// minWords is the size of a package's comments from which the rate is judged.
// In a smaller one a single phrase would exceed it.
const minWords = 500

func main() {
	dir := flag.String("C", "..", "root of the `module`")
	most := flag.Float64("most", 1, "phrases in 1,000 words of a package at most")
	show := flag.Bool("show", false, "print each occurrence")
	flag.Parse()
	if err := run(os.Stdout, *dir, flag.Args(), *most, *show); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

// counter counts phrases and words of comments by package.
type counter struct {
	phrases []phrase
	show    io.Writer // nil: occurrences are not printed
	by      map[string]*count
}

type count struct{ words, found int }

func (n *count) rate() float64 { return 1000 * float64(n.found) / float64(max(1, n.words)) }

func run(w io.Writer, dir string, packages []string, most float64, show bool) error {
	list, err := parsePhrases(phrasesText)
	if err != nil {
		return err
	}
	c := counter{phrases: list, by: map[string]*count{}}
	if show {
		c.show = w
	}
	if err := c.walk(dir, packages); err != nil {
		return err
	}
	return c.report(w, most)
}

func parsePhrases(text string) (list []phrase, err error) {
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		pattern, instead, ok := strings.Cut(s.Text(), "\t")
		if !ok || strings.HasPrefix(pattern, "#") {
			continue
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		list = append(list, phrase{re, instead})
	}
	return list, nil
}

// walk counts in the packages below dir, or in those listed.
func (c *counter) walk(dir string, packages []string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		pkg, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		if len(packages) > 0 && !slices.Contains(packages, filepath.ToSlash(pkg)) {
			return nil
		}
		return c.file(path, filepath.ToSlash(pkg))
	})
}

// file counts in the comments of one file.
func (c *counter) file(path, pkg string) error {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	n := c.by[pkg]
	if n == nil {
		n = &count{}
		c.by[pkg] = n
	}
	for _, group := range f.Comments {
		text := strings.ToLower(strings.Join(strings.Fields(group.Text()), " "))
		n.words += len(strings.Fields(text))
		for _, p := range c.phrases {
			for _, at := range p.pattern.FindAllString(text, -1) {
				n.found++
				if c.show != nil {
					fmt.Fprintf(c.show, "%s: %q: %s\n", set.Position(group.Pos()), at, p.instead)
				}
			}
		}
	}
	return nil
}

// report prints a line for each package, and fails for those above the limit.
func (c *counter) report(w io.Writer, most float64) error {
	var all count
	var bad []string
	var b bytes.Buffer
	for _, pkg := range slices.Sorted(maps.Keys(c.by)) {
		n := c.by[pkg]
		all.words += n.words
		all.found += n.found
		fmt.Fprintf(&b, "%-32s %7d words %5d phrases %6.2f in 1,000\n", pkg, n.words, n.found, n.rate())
		if n.words >= minWords && n.rate() > most {
			bad = append(bad, pkg)
		}
	}
	fmt.Fprintf(&b, "%-32s %7d words %5d phrases %6.2f in 1,000\n", "all", all.words, all.found, all.rate())
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("more than %g phrases in 1,000 words of comments (--show lists them): %s", most, strings.Join(bad, ", "))
	}
	return nil
}
