package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// drawing is a plot that is ready for a canvas of plotWidth by height.
type drawing struct {
	title  string
	y      string // the axis' label
	plot   *plot.Plot
	legend *legend
	height vg.Length
}

func (p *Plot) drawing() (*drawing, error) {
	g, legend, err := p.build()
	if err != nil {
		return nil, err
	}
	return &drawing{p.title(), p.Y, g, legend, plotHeight + legend.height()}, nil
}

func (d *drawing) draw(c draw.Canvas) {
	c.SetColor(color.White) // Pages may be dark.
	c.Fill(c.Rectangle.Path())
	label := text.Style{
		Color: color.Black, Font: sans(titleSize), XAlign: draw.XLeft, YAlign: draw.YTop,
		Handler: plot.DefaultTextHandler,
	}
	// Over the whole width: gonum would put it over the lines only, where
	// a long one is cut off.
	c.FillText(label, vg.Point{X: c.Min.X + margin, Y: c.Max.Y - margin/2}, d.title)
	const head = 2 * titleSize
	low := d.legend.height()
	area := draw.Crop(c, margin+1.3*fontSize, -margin, low, -head)
	d.plot.Draw(area)
	// Not gonum's label of the axis either: it makes room for it at the
	// mean of the values, which on a logarithmic axis is near the top.
	label.Font, label.Rotation, label.XAlign = sans(fontSize), math.Pi/2, draw.XCenter
	data := d.plot.DataCanvas(area)
	c.FillText(label, vg.Point{X: c.Min.X + margin, Y: data.Center().Y}, d.y)
	d.legend.draw(draw.Crop(c, 0, 0, 0, low-d.height))
}

// SVG returns the plot as an SVG document.
func (p *Plot) SVG() ([]byte, error) {
	d, err := p.drawing()
	if err != nil {
		return nil, err
	}
	c := vgsvg.New(plotWidth, d.height)
	d.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: plot %s: %w", p.Name, err)
	}
	// Without Liberation Sans, a font with its widths.
	return []byte(strings.ReplaceAll(b.String(), "font-family:Liberation Sans;",
		"font-family:Liberation Sans,Arial,Helvetica,sans-serif;")), nil
}

// PNG returns the plot as an image.
func (p *Plot) PNG() ([]byte, error) {
	d, err := p.drawing()
	if err != nil {
		return nil, err
	}
	c := vgimg.NewWith(vgimg.UseWH(plotWidth, d.height), vgimg.UseDPI(dpi))
	d.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("report: plot %s: %w", p.Name, err)
	}
	return b.Bytes(), nil
}
