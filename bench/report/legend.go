package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend says below a plot which line is which: inside it would cover what
// it explains, and beside it would take the width.
type legend struct{ entries []entry }

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

func (l *legend) add(name string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, entry{name, thumbs})
}

// column is an empty one of gonum's.
func column() plot.Legend {
	c := plot.NewLegend()
	c.TextStyle.Font = sans(fontSize)
	c.Left, c.Top = true, true
	c.ThumbnailWidth = vg.Points(36) // The longest dashes, twice.
	c.Padding = vg.Points(3)
	return c
}

// columns are as many as fit side by side; entries go from left to right,
// then down.
func (l *legend) columns() (columns []plot.Legend, widths []vg.Length) {
	gap := vg.Points(14)
	for n := len(l.entries); n > 0; n-- {
		columns, widths = make([]plot.Legend, n), make([]vg.Length, n)
		total := vg.Length(0)
		for i := range columns {
			columns[i] = column()
			for j := i; j < len(l.entries); j += n {
				columns[i].Add(l.entries[j].name, l.entries[j].thumbs...)
			}
			widths[i] = columns[i].Rectangle(draw.Canvas{}).Size().X + gap
			total += widths[i]
		}
		if total <= plotWidth-2*margin || n == 1 {
			break
		}
	}
	return columns, widths
}

// height is what draw needs.
func (l *legend) height() vg.Length {
	columns, _ := l.columns()
	if len(columns) == 0 {
		return 0
	}
	// The first column is the longest; descents hang below.
	return columns[0].Rectangle(draw.Canvas{}).Size().Y + fontSize
}

// draw draws the legend from the canvas' top left corner.
func (l *legend) draw(c draw.Canvas) {
	columns, widths := l.columns()
	x := margin
	for i := range columns {
		columns[i].Draw(draw.Crop(c, x, 0, 0, 0))
		x += widths[i]
	}
}

// labelWidth is that of a tick's label.
func labelWidth(label string) vg.Length {
	s := text.Style{Font: sans(fontSize), Handler: plot.DefaultTextHandler}
	return s.Rectangle(label).Size().X
}
