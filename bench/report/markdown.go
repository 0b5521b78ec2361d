package report

import (
	"bytes"
	"fmt"
	"strings"
)

// markdown writes the document; figure returns the path of a plot's image and
// its caption.
func markdown(d *Document, all []chapter, figure func(*Plot) (image, caption string)) []byte {
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
	if len(all) > fewChapters {
		b.WriteString("\n")
		for _, c := range all {
			fmt.Fprintf(&b, "%s- [%s](#%s)\n", strings.Repeat("  ", c.Level-2), alt(c.Heading), c.ID)
		}
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s %s\n", strings.Repeat("#", c.Level), c.Heading)
		for _, t := range c.Text {
			fmt.Fprintf(&b, "\n%s\n", t)
		}
		for _, plots := range c.Rows {
			beside(&b, plots, figure)
		}
		for _, p := range c.Plots {
			image, caption := figure(&p)
			fmt.Fprintf(&b, "\n![%s](%s)\n\n%s\n", alt(p.title()), image, caption)
		}
		for _, t := range c.Tables {
			table(&b, t)
		}
	}
	return b.Bytes()
}

// beside puts the plots of a row into cells of a table, as Markdown has no
// other side by side.
func beside(b *bytes.Buffer, plots []Plot, figure func(*Plot) (image, caption string)) {
	images, captions := make([]string, len(plots)), make([]string, len(plots))
	for i := range plots {
		image, caption := figure(&plots[i])
		images[i], captions[i] = fmt.Sprintf("![%s](%s)", alt(plots[i].title()), image), caption
	}
	b.WriteString("\n")
	row(b, images)
	b.WriteString(strings.Repeat("|---", len(images)) + "|\n")
	row(b, captions)
}

func table(b *bytes.Buffer, t Table) {
	b.WriteString("\n")
	if t.Caption != "" {
		fmt.Fprintf(b, "%s\n\n", t.Caption)
	}
	if t.Code != "" {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", t.Code)
	}
	if len(t.Head) == 0 {
		return
	}
	row(b, t.Head)
	b.WriteString(strings.Repeat("|---", len(t.Head)) + "|\n")
	for _, r := range t.Rows {
		row(b, r)
	}
}

// key names the plot and its lines in text, for readers without the image.
func key(p *Plot) string {
	var names []string
	for _, l := range p.Lines {
		if len(p.drawable(l)) > 0 {
			names = append(names, p.label(l))
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
