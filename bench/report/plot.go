package report

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// ErrNoPoints is wrapped when a plot has no drawable points.
var ErrNoPoints = errors.New("report: no points")

// Plot is lines over one axis.
type Plot struct {
	Name  string // of its files, without extension
	Title string
	X, Y  string // axes, with units
	// A logarithmic axis shows only what is above 0.
	LogX, LogY bool
	Ticks      []float64 // of the x axis, in any order; nil: chosen
	FromZero   bool      // the y axis, which is not logarithmic
	Simulated  bool      // all of it
	Lines      []Line
}

// Line is the line of one series.
type Line struct {
	Name      string       // in the legend
	Series    string       // in the table of looks (Rank); empty: Name
	Points    [][2]float64 // x ascending
	Simulated bool         // only this line
	// Paper: values that the paper prints. They are drawn as larger,
	// hollow marks in the look of the series, and nothing joins them.
	Paper bool
}

const (
	// Two plots fit beside each other on a page of A4 or letter.
	plotWidth   = 6.2 * vg.Inch
	plotHeight  = 3.1 * vg.Inch // and the legend
	margin      = vg.Length(6)
	lineWidth   = vg.Length(1.4)
	hollowWidth = vg.Length(1.3)
	edgeWidth   = vg.Length(0.5) // white, between marks that overlap
	markRadius  = vg.Length(3.2)
	paperRadius = vg.Length(5)
	fontSize    = vg.Length(11)
	legendSize  = vg.Length(10)
	titleSize   = vg.Length(11.5)
	// maxMarks on a line, so that dashes still show between them.
	maxMarks = 12
	// dpi of PNG files: twice a screen's, so that a printout is not coarse.
	dpi = 192
)

// file is the plot's file name without extension.
func (p *Plot) file() string {
	if p.Simulated {
		return p.Name + "-simulated"
	}
	return p.Name
}

func (p *Plot) title() string {
	if p.Simulated {
		return p.Title + " (simulated)"
	}
	return p.Title
}

// label is a line's name in the legend.
func (p *Plot) label(l Line) string {
	switch {
	case l.Paper:
		return l.Name + " (paper)"
	case l.Simulated && !p.Simulated:
		return l.Name + " (simulated)"
	}
	return l.Name
}

func (l Line) series() string {
	if l.Series == "" {
		return l.Name
	}
	return l.Series
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// drawable are the line's points that its axes can show.
func (p *Plot) drawable(l Line) plotter.XYs {
	var xy plotter.XYs
	for _, q := range l.Points {
		x, y := q[0], q[1]
		if bad(x) || bad(y) || p.LogX && x <= 0 || p.LogY && y <= 0 {
			continue
		}
		xy = append(xy, plotter.XY{X: x, Y: y})
	}
	return xy
}

func bad(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// build makes gonum's plot and its legend.
func (p *Plot) build() (*plot.Plot, *legend, error) {
	g, legend := plot.New(), new(legend)
	g.X.Label.Text = p.X
	for _, s := range []*text.Style{&g.X.Label.TextStyle, &g.X.Tick.Label, &g.Y.Tick.Label} {
		s.Font = sans(fontSize)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = rgb(0xdd, 0xdd, 0xdd), rgb(0xdd, 0xdd, 0xdd)
	g.Add(grid)
	looks, err := p.looks()
	if err != nil {
		return nil, nil, err
	}
	// Dashed lines are drawn over solid ones, which show through the gaps.
	var solid, dashed, marks []plot.Plotter
	for i, l := range p.Lines {
		xy := p.drawable(l)
		if len(xy) == 0 {
			continue
		}
		s := looks[i]
		if l.Paper && s.mark == nil {
			s.mark = circle // A single point has no visible line.
		}
		var thumbs []plot.Thumbnailer
		if !l.Paper {
			line, err := plotter.NewLine(xy)
			if err != nil {
				return nil, nil, fmt.Errorf("report: plot %s, line %s: %w", p.Name, l.Name, err)
			}
			line.Dashes, line.Color, line.Width = s.dashes, s.color, lineWidth
			thumbs = append(thumbs, line)
			if s.dashes == nil {
				solid = append(solid, line)
			} else {
				dashed = append(dashed, line)
			}
		}
		if s.mark != nil {
			at := xy
			if !l.Paper {
				at = marked(xy, i)
			}
			scatter, err := plotter.NewScatter(at)
			if err != nil {
				return nil, nil, fmt.Errorf("report: plot %s, line %s: %w", p.Name, l.Name, err)
			}
			scatter.Shape, scatter.Color, scatter.Radius = glyph{s.mark, l.Paper}, s.color, markRadius
			if l.Paper {
				scatter.Radius = paperRadius
			}
			thumbs, marks = append(thumbs, scatter), append(marks, scatter)
		}
		legend.add(p.label(l), thumbs...)
	}
	if len(legend.entries) == 0 {
		return nil, nil, fmt.Errorf("%w: plot %s", ErrNoPoints, p.Name)
	}
	g.Add(solid...)
	g.Add(dashed...)
	g.Add(marks...)
	p.axes(g)
	return g, legend, nil
}

// marked are the points that get a mark. Lines that cover each other begin at
// different points, so that all are visible; i is a line's number.
func marked(xy plotter.XYs, i int) plotter.XYs {
	if len(xy) <= maxMarks {
		return xy
	}
	const apart = 8 // lines that begin at different points
	var m plotter.XYs
	step := (len(xy) + maxMarks - 1) / maxMarks
	for j := i % apart * step / apart; j < len(xy); j += step {
		m = append(m, xy[j])
	}
	return m
}
