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
	// Warnings stand above everything else and name missing parts.
	Warnings []string
	Sections []Section
}

// Fact is one line that a reader must know.
type Fact struct{ Name, Value string }

// Section has its contents in this order.
type Section struct {
	Heading string
	Text    []string // paragraphs
	Rows    [][]Plot // those of a row stand side by side
	Plots   []Plot   // as many side by side as fit
	Tables  []Table
	Parts   []Section // one level lower
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

// Write puts the document into dir, which it creates if it is missing. Each
// file is replaced as a whole, so a reader never sees half of one. A plot
// without points is left out, and the section says so.
func Write(dir string, d *Document) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	all := chapters(d)
	seen := map[string]bool{}
	for i := range all {
		if err := all[i].eachPlot(func(p *Plot) (bool, error) {
			if seen[p.file()] {
				return false, fmt.Errorf("report: two plots are called %s", p.file())
			}
			seen[p.file()] = true
			switch err := writePlot(dir, p); {
			case errors.Is(err, ErrNoPoints):
				all[i].Text = append(all[i].Text[:len(all[i].Text):len(all[i].Text)],
					fmt.Sprintf("No plot %q: there are no points for it.", p.title()))
				return false, nil
			case err != nil:
				return false, err
			}
			return true, nil
		}); err != nil {
			return err
		}
	}
	// PNG, which every viewer shows; the SVG files are for printing.
	if err := replace(dir, MarkdownFile, markdown(d, all, func(p *Plot) (image, caption string) {
		return p.file() + ".png", fmt.Sprintf("%s ([SVG](%s.svg))", key(p), p.file())
	})); err != nil {
		return err
	}
	page, err := html(d, all)
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
	all := chapters(d)
	for i := range all {
		if err := all[i].eachPlot(func(p *Plot) (bool, error) {
			if err := os.MkdirAll(filepath.Join(dir, plots), 0o777); err != nil {
				return false, fmt.Errorf("report: %w", err)
			}
			svg, err := p.SVG()
			if err != nil {
				return false, err
			}
			return true, replace(filepath.Join(dir, plots), p.file()+".svg", svg)
		}); err != nil {
			return err
		}
	}
	return replace(dir, filepath.Base(file), markdown(d, all, func(p *Plot) (image, caption string) {
		return plots + "/" + p.file() + ".svg", key(p)
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

// replace writes a temporary file and renames it.
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
