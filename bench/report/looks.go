package report

import (
	"errors"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
)

// ErrLook is wrapped when a plot has more lines without a look of their own
// than spare looks exist.
var ErrLook = errors.New("report: no look left")

// look distinguishes a series from the others in three ways: by its dashes, by
// its mark and, on a screen, by its colour. No two series share a mark or a
// colour, so a grey print or a colour-blind reader loses nothing.
type look struct {
	series string
	dashes []vg.Length
	mark   outline
	color  color.RGBA
}

// looks of all series, in the order of legends: the same in every plot of
// every report. What the paper compares (tcp, tcp-40g, fast-polling,
// offload-single, paper) and the series most often drawn with it have the
// colours of Okabe and Ito ("Color Universal Design", 2008), without the
// yellow that paper swallows. Paths have hues: TCP is grey, fast messaging
// blue, offloading orange, adaptive clients green to violet.
var looks = []look{
	{"tcp", dash(2, 2), cross, rgb(0x80, 0x80, 0x80)},
	{"tcp-10g", dash(2, 4), bar, rgb(0x50, 0x50, 0x58)},
	{"tcp-40g", dash(1, 2, 4, 2), plus, rgb(0x00, 0x00, 0x00)},
	{"fast-polling", dash(8, 3), square, rgb(0x00, 0x72, 0xb2)},
	{"farm", dash(8, 3, 8, 1), hexagon, rgb(0x40, 0x58, 0x20)},
	{"fast-polling-cq", dash(8, 3, 1, 3), pole, rgb(0x3a, 0x36, 0x9a)},
	{"fast", dash(4, 2), diamond, rgb(0x56, 0xb4, 0xe9)},
	{"fetch", dash(6, 1, 1, 1), wedge, rgb(0x20, 0xa0, 0xb8)},
	{"offload-single", dash(6, 2, 2, 2), up, rgb(0xd5, 0x5e, 0x00)},
	{"offload", dash(3, 3), down, rgb(0xe6, 0x9f, 0x00)},
	{"offload-cached", dash(10, 2, 2, 2), right, rgb(0x8a, 0x4b, 0x08)},
	{"paper-literal", dash(5, 2, 1, 2, 1, 2), bowtie, rgb(0x7a, 0x9a, 0x1f)},
	{"paper", nil, circle, rgb(0x00, 0x9e, 0x73)},
	{"cost", dash(12, 2), star5, rgb(0xcc, 0x79, 0xa7)},
	{"aimd", dash(5, 5), star4, rgb(0x7b, 0x32, 0x94)},
	{"read", dash(7, 2, 1, 2), left, rgb(0xb0, 0x30, 0x20)},
	{"write", dash(9, 4), house, rgb(0x10, 0x80, 0x90)},
	{"server CPU", dash(3, 1), hourglass, rgb(0x9a, 0x20, 0x5c)},
	{"bandwidth", dash(6, 3, 3, 3), lozenge, rgb(0x2a, 0x5c, 0xc8)},
	{"limit", dash(1, 1), nil, rgb(0xc0, 0x00, 0x00)}, // Not a measurement.
}

// spares are for series that the table does not know, in the order of a plot's
// lines: an experimental policy needs no entry.
var spares = []look{
	{"", dash(4, 1, 1, 1), star6, rgb(0x5a, 0x8f, 0x7b)},
	{"", dash(7, 4), half, rgb(0xa0, 0x6a, 0x6a)},
	{"", dash(2, 1), stairs, rgb(0x6a, 0x6a, 0xa8)},
}

// Rank is the place of a series in legends. Known is whether the table of
// looks has it; unknown series come last.
func Rank(series string) (place int, known bool) {
	i := slices.IndexFunc(looks, func(l look) bool { return l.series == series })
	if i < 0 {
		return len(looks), false
	}
	return i, true
}

// looks finds the look of each line.
func (p *Plot) looks() ([]look, error) {
	found := make([]look, len(p.Lines))
	var unknown []string
	for i, l := range p.Lines {
		if at, ok := Rank(l.series()); ok {
			found[i] = looks[at]
			continue
		}
		at := slices.Index(unknown, l.series())
		if at < 0 {
			at = len(unknown)
			unknown = append(unknown, l.series())
		}
		if at >= len(spares) {
			return nil, fmt.Errorf("%w: plot %s, line %s: %d lines have none, want at most %d",
				ErrLook, p.Name, l.Name, at+1, len(spares))
		}
		found[i] = spares[at]
	}
	return found, nil
}

func rgb(r, g, b uint8) color.RGBA { return color.RGBA{R: r, G: g, B: b, A: 0xff} }

func dash(points ...float64) []vg.Length {
	d := make([]vg.Length, len(points))
	for i, p := range points {
		d[i] = vg.Points(p)
	}
	return d
}
