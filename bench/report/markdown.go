package report

import (
	"bytes"
	"fmt"
	"strings"
)

// markdown writes the document; figure is what stands for a plot.
func markdown(d *Document, figure func(*Plot) string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", d.Title)
	for _, w := range d.Warnings {
		fmt.Fprintf(&b, "\n> **%s**\n", w)
	}
	if len(d.Facts) > 0 {
		b.WriteString("\n| | |\n|---|---|\n")
		for _, f := range d.Facts {
			fmt.Fprintf(&b, "| %s | %s |\n", cell(f.Name), cell(f.Value))
		}
	}
	for _, s := range d.Sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Heading)
		for _, t := range s.Text {
			fmt.Fprintf(&b, "\n%s\n", t)
		}
		for _, p := range s.Plots {
			fmt.Fprintf(&b, "\n%s", figure(&p))
		}
		for _, t := range s.Tables {
			b.WriteString("\n")
			if t.Caption != "" {
				fmt.Fprintf(&b, "%s\n\n", t.Caption)
			}
			if t.Code != "" {
				fmt.Fprintf(&b, "```sh\n%s\n```\n\n", t.Code)
			}
			if len(t.Head) == 0 {
				continue
			}
			row(&b, t.Head)
			b.WriteString(strings.Repeat("|---", len(t.Head)) + "|\n")
			for _, r := range t.Rows {
				row(&b, r)
			}
		}
	}
	return b.Bytes()
}

// key names the plot and its lines in text, for readers who cannot see it.
func key(p *Plot) string {
	var names []string
	for _, l := range p.Lines {
		if len(p.drawable(l)) > 0 {
			names = append(names, l.Name)
		}
	}
	return p.title() + ": " + strings.Join(names, ", ")
}

func row(b *bytes.Buffer, cells []string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", cell(c))
	}
	b.WriteString("|\n")
}

// cell keeps a text within its cell.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

func alt(s string) string {
	return strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(s)
}
