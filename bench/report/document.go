package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Document is a report.
type Document struct {
	Title string
	// Facts stand at the top: the machine, the commit, the command.
	Facts []Fact
	// Warnings stand above everything else: what is missing.
	Warnings []string
	Sections []Section
}

// Fact is one line of what a reader must know.
type Fact struct{ Name, Value string }

// Section has its parts in this order.
type Section struct {
	Heading string
	Text    []string // paragraphs
	Plots   []Plot
	Tables  []Table
}

// Table has as many cells in each row as in Head.
type Table struct {
	Caption string
	Code    string // the command that made it, may have several lines
	Head    []string
	Rows    [][]string
}

// The files that Write makes besides the plots.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
)

// Write puts the document into dir, which it makes if need be. Each file
// is replaced as a whole, so a reader never sees half of one. A plot
// without points is left out, and the section says so.
func Write(dir string, d *Document) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	doc := *d
	doc.Sections = append([]Section(nil), d.Sections...)
	seen := map[string]bool{}
	for i := range doc.Sections {
		s := &doc.Sections[i]
		var plots []Plot
		for _, p := range s.Plots {
			if seen[p.file()] {
				return fmt.Errorf("report: two plots are called %s", p.file())
			}
			seen[p.file()] = true
			switch err := writePlot(dir, &p); {
			case errors.Is(err, ErrNoPoints):
				s.Text = append(s.Text[:len(s.Text):len(s.Text)],
					fmt.Sprintf("No plot %q: there are no points for it.", p.title()))
			case err != nil:
				return err
			default:
				plots = append(plots, p)
			}
		}
		s.Plots = plots
	}
	if err := replace(dir, MarkdownFile, markdown(&doc, func(p *Plot) string {
		// PNG, which every viewer shows; the SVG files are for printing.
		return fmt.Sprintf("![%s](%s.png)\n\n%s ([SVG](%s.svg))\n", alt(p.title()), p.file(), key(p), p.file())
	})); err != nil {
		return err
	}
	page, err := html(&doc)
	if err != nil {
		return err
	}
	return replace(dir, HTMLFile, page)
}

// WritePage writes the document as one page of Markdown, its plots as SVG
// into a directory called plots beside it. Files are replaced as by Write.
func WritePage(file string, d *Document) error {
	const plots = "plots"
	dir := filepath.Dir(file)
	for _, s := range d.Sections {
		for i := range s.Plots {
			p := &s.Plots[i]
			if err := os.MkdirAll(filepath.Join(dir, plots), 0o777); err != nil {
				return fmt.Errorf("report: %w", err)
			}
			svg, err := p.SVG()
			if err == nil {
				err = replace(filepath.Join(dir, plots), p.file()+".svg", svg)
			}
			if err != nil {
				return err
			}
		}
	}
	return replace(dir, filepath.Base(file), markdown(d, func(p *Plot) string {
		return fmt.Sprintf("![%s](%s/%s.svg)\n\n%s\n", alt(p.title()), plots, p.file(), key(p))
	}))
}

func writePlot(dir string, p *Plot) error {
	svg, err := p.SVG()
	if err != nil {
		return err
	}
	png, err := p.PNG()
	if err != nil {
		return err
	}
	if err := replace(dir, p.file()+".svg", svg); err != nil {
		return err
	}
	return replace(dir, p.file()+".png", png)
}

// replace writes a file beside its place and moves it there.
func replace(dir, name string, b []byte) error {
	tmp := filepath.Join(dir, "."+name+".new")
	err := os.WriteFile(tmp, b, 0o666)
	if err == nil {
		err = os.Rename(tmp, filepath.Join(dir, name))
	}
	if err != nil {
		_ = os.Remove(tmp) // The first error counts.
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
