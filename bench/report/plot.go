package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// ErrNoPoints is wrapped when a plot has nothing that could be drawn.
var ErrNoPoints = errors.New("report: no points")

// Plot is lines over one axis.
type Plot struct {
	Name  string // of its files, without extension
	Title string
	X, Y  string // axes, with units
	// A logarithmic axis shows only what is above 0.
	LogX, LogY bool
	Ticks      []float64 // of the x axis; nil: chosen
	FromZero   bool      // the y axis, which is not logarithmic
	Simulated  bool      // all of it
	Lines      []Line
}

// Line is one series.
type Line struct {
	Name      string
	Style     int          // the same number, the same look in every plot
	Points    [][2]float64 // x ascending
	Simulated bool         // only this line
}

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

// build makes gonum's plot and its legend, which stands beside it: inside
// it would cover what it explains.
func (p *Plot) build() (*plot.Plot, plot.Legend, error) {
	g, legend := plot.New(), plot.NewLegend()
	g.X.Label.Text, g.Y.Label.Text = p.X, p.Y
	for _, s := range []*text.Style{
		&g.X.Label.TextStyle, &g.Y.Label.TextStyle,
		&g.X.Tick.Label, &g.Y.Tick.Label, &legend.TextStyle,
	} {
		s.Font = sans(fontSize)
	}
	legend.Left, legend.Top = true, true
	legend.ThumbnailWidth = vg.Points(36) // The longest dashes, twice.
	legend.Padding = vg.Points(3)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = rgb(0xdd, 0xdd, 0xdd), rgb(0xdd, 0xdd, 0xdd)
	g.Add(grid)
	drawn := 0
	for _, l := range p.Lines {
		xy := p.drawable(l)
		if len(xy) == 0 {
			continue
		}
		drawn++
		line, err := plotter.NewLine(xy)
		if err != nil {
			return nil, legend, fmt.Errorf("report: plot %s, line %s: %w", p.Name, l.Name, err)
		}
		marks, err := plotter.NewScatter(marked(xy, l.Style))
		if err != nil {
			return nil, legend, fmt.Errorf("report: plot %s, line %s: %w", p.Name, l.Name, err)
		}
		s := styleOf(l.Style)
		line.Dashes, line.Color, line.Width = s.dashes, s.color, lineWidth
		marks.Shape, marks.Color, marks.Radius = s.mark, s.color, markRadius
		g.Add(line, marks)
		name := l.Name
		if l.Simulated && !p.Simulated {
			name += " (simulated)"
		}
		legend.Add(name, line, marks)
	}
	if drawn == 0 {
		return nil, legend, fmt.Errorf("%w: plot %s", ErrNoPoints, p.Name)
	}
	p.axes(g)
	return g, legend, nil
}

// marked are the points that get a mark. Lines of different styles that
// cover each other begin at different points, so that both can be seen.
func marked(xy plotter.XYs, style int) plotter.XYs {
	if len(xy) <= maxMarks {
		return xy
	}
	var m plotter.XYs
	step := (len(xy) + maxMarks - 1) / maxMarks
	for i := style % len(styles) * step / len(styles); i < len(xy); i += step {
		m = append(m, xy[i])
	}
	return m
}

func (p *Plot) axes(g *plot.Plot) {
	if p.LogX && p.Ticks == nil {
		decades(&g.X)
	}
	if p.LogY {
		decades(&g.Y)
	}
	scale(&g.X, p.LogX)
	scale(&g.Y, p.LogY)
	if p.FromZero && !p.LogY {
		g.Y.Min, g.Y.Max = min(0, g.Y.Min), g.Y.Max*1.05
	}
	if p.Ticks != nil {
		t := make(plot.ConstantTicks, len(p.Ticks))
		for i, v := range p.Ticks {
			t[i] = plot.Tick{Value: v, Label: number(v)}
		}
		g.X.Tick.Marker = t
	}
}

// decades widens a logarithmic axis to whole powers of ten: these are what
// is labelled, and between two of them there would be no number to read.
func decades(a *plot.Axis) {
	a.Min = math.Pow(10, math.Floor(math.Log10(a.Min)))
	a.Max = math.Pow(10, math.Ceil(math.Log10(a.Max)))
}

// scale makes an axis wide enough to be drawn, and logarithmic.
func scale(a *plot.Axis, log bool) {
	if !log {
		a.Tick.Marker = shortTicks{plot.DefaultTicks{}}
		return
	}
	if a.Min == a.Max { // One point: gonum would begin at 0, or below.
		a.Min, a.Max = a.Min/2, a.Max*2
	}
	a.Scale = plot.LogScale{}
	a.Tick.Marker = shortTicks{plot.LogTicks{Prec: -1}}
}

// shortTicks writes numbers as people do.
type shortTicks struct{ plot.Ticker }

func (s shortTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := s.Ticker.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = number(ticks[i].Value)
		}
	}
	return ticks
}

// number is short: 1.2M, 350k, 0.5.
func number(v float64) string {
	for _, u := range []struct {
		at   float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= u.at {
			return fmt.Sprintf("%.4g%s", v/u.at, u.name)
		}
	}
	return fmt.Sprintf("%.4g", v)
}

// render draws on a canvas of plotWidth by plotHeight.
func (p *Plot) render(c draw.Canvas) error {
	g, legend, err := p.build()
	if err != nil {
		return err
	}
	// Over the whole width: gonum would put it over the lines only, where
	// a long one is cut off.
	c.FillText(text.Style{
		Color: rgb(0, 0, 0), Font: sans(titleSize), XAlign: draw.XLeft, YAlign: draw.YTop,
		Handler: plot.DefaultTextHandler,
	}, vg.Point{X: c.Min.X + vg.Points(4), Y: c.Max.Y - vg.Points(2)}, p.title())
	const head = 2 * titleSize
	width := legend.Rectangle(c).Size().X + vg.Points(8)
	g.Draw(draw.Crop(c, 0, -width, 0, -head))
	legend.Draw(draw.Crop(c, plotWidth-width+vg.Points(4), 0, 0, -head))
	return nil
}

// SVG returns the plot as an SVG document.
func (p *Plot) SVG() ([]byte, error) {
	c := vgsvg.New(plotWidth, plotHeight)
	if err := p.render(draw.New(c)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: plot %s: %w", p.Name, err)
	}
	// Where Liberation Sans is not installed, what has its widths.
	return []byte(strings.ReplaceAll(b.String(), "font-family:Liberation Sans;",
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// PNG returns the plot as an image.
func (p *Plot) PNG() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(dpi))
	if err := p.render(draw.New(c)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: plot %s: %w", p.Name, err)
	}
	return b.Bytes(), nil
}
