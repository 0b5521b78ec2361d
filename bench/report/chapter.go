package report

import (
	"fmt"
	"strings"
	"unicode"
)

// chapter is a section in the order of reading: first itself, then its
// parts.
type chapter struct {
	Section
	Level int    // of its heading: 2 for the document's sections
	ID    string // the target of links, unique in the document
}

// fewChapters need no contents.
const fewChapters = 2

func chapters(d *Document) []chapter {
	var all []chapter
	used := map[string]bool{}
	var add func(sections []Section, level int)
	add = func(sections []Section, level int) {
		for _, s := range sections {
			all = append(all, chapter{s, level, anchor(s.Heading, used)})
			add(s.Parts, level+1)
		}
	}
	add(d.Sections, 2)
	return all
}

// anchor is the anchor that GitHub and similar sites give a heading: lower
// case, hyphens for spaces, no punctuation, and a number from the second of a
// kind on. So the contents of Markdown and of HTML link alike.
func anchor(heading string, used map[string]bool) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
	id := slug
	for i := 1; used[id]; i++ {
		id = fmt.Sprintf("%s-%d", slug, i)
	}
	used[id] = true
	return id
}

// eachPlot hands over every plot and keeps those for which f says so. The
// document that the chapter is of stays as it is.
func (c *chapter) eachPlot(f func(*Plot) (keep bool, err error)) error {
	keep := func(plots []Plot) ([]Plot, error) {
		var kept []Plot
		for _, p := range plots {
			ok, err := f(&p)
			if err != nil {
				return nil, err
			}
			if ok {
				kept = append(kept, p)
			}
		}
		return kept, nil
	}
	var rows [][]Plot
	for _, r := range c.Rows {
		row, err := keep(r)
		if err != nil {
			return err
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	plots, err := keep(c.Plots)
	if err != nil {
		return err
	}
	c.Rows, c.Plots = rows, plots
	return nil
}
