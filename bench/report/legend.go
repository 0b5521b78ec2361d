package report

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend names the lines below a plot: inside it would cover them, and at the
// side it would take width.
type legend struct{ entries []entry }

type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

func (l *legend) add(name string, thumbs ...plot.Thumbnailer) {
	l.entries = append(l.entries, entry{name, thumbs})
}

// column is an empty legend of gonum's.
func column() plot.Legend {
	c := plot.NewLegend()
	c.TextStyle.Font = sans(legendSize)
	c.Left, c.Top = true, true
	c.ThumbnailWidth = vg.Points(30) // The longest dashes, twice.
	c.Padding = vg.Points(3)
	return c
}

// columns are as many as fit side by side; entries go down, then to the right,
// so that a line and its paper values are neighbours.
func (l *legend) columns() (columns []plot.Legend, widths []vg.Length) {
	gap := vg.Points(10)
	for long := 1; long <= len(l.entries); long++ {
		columns, widths = nil, nil
		total := vg.Length(0)
		for entries := range slices.Chunk(l.entries, long) {
			c := column()
			for _, e := range entries {
				c.Add(e.name, e.thumbs...)
			}
			width := c.Rectangle(draw.Canvas{}).Size().X + gap
			columns, widths = append(columns, c), append(widths, width)
			total += width
		}
		if total <= plotWidth-2*margin {
			break
		}
	}
	return columns, widths
}

// height is the height that draw needs.
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
