package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A style tells one line of a plot from the others three times: by its
// dashes, by its marks and, on a screen, by its colour.
type style struct {
	dashes []vg.Length
	mark   draw.GlyphDrawer
	color  color.RGBA
}

// styles: colours that the colour-blind can tell apart, after Okabe and
// Ito ("Color Universal Design", 2008), without the yellow that paper
// swallows.
var styles = []style{
	{nil, draw.CircleGlyph{}, rgb(0x00, 0x00, 0x00)},
	{dash(6, 2), draw.SquareGlyph{}, rgb(0xd5, 0x5e, 0x00)},
	{dash(2, 2), draw.PyramidGlyph{}, rgb(0x00, 0x72, 0xb2)},
	{dash(8, 2, 2, 2), draw.CrossGlyph{}, rgb(0x00, 0x9e, 0x73)},
	{dash(1, 3), draw.BoxGlyph{}, rgb(0xcc, 0x79, 0xa7)},
	{dash(4, 4), draw.TriangleGlyph{}, rgb(0xb0, 0x70, 0x00)},
	{dash(10, 3), draw.PlusGlyph{}, rgb(0x40, 0x80, 0xb0)},
	{dash(6, 2, 1, 2, 1, 2), draw.RingGlyph{}, rgb(0x60, 0x60, 0x60)},
}

func rgb(r, g, b uint8) color.RGBA { return color.RGBA{R: r, G: g, B: b, A: 0xff} }

func dash(points ...float64) []vg.Length {
	d := make([]vg.Length, len(points))
	for i, p := range points {
		d[i] = vg.Points(p)
	}
	return d
}

// styleOf goes round when there are more lines than styles; their number
// is above what a plot can hold legibly.
func styleOf(i int) style { return styles[i%len(styles)] }

const (
	// Two plots fit beside each other on a page of A4 or letter.
	plotWidth  = 6.2 * vg.Inch
	plotHeight = 3.4 * vg.Inch
	lineWidth  = vg.Length(1.4)
	markRadius = vg.Length(3)
	fontSize   = vg.Length(11)
	titleSize  = vg.Length(10.5)
	// maxMarks on a line, so that dashes still show between them.
	maxMarks = 12
	// dpi of PNG files: twice a screen's, so that a printout is not coarse.
	dpi = 192
)
