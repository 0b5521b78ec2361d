package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// outline is the border of a mark, in units of the mark's radius.
type outline []vg.Point

// Outlines that stay apart at three points of radius, filled or not.
var (
	circle    = star(24, 1)
	square    = outline{{X: -.85, Y: -.85}, {X: .85, Y: -.85}, {X: .85, Y: .85}, {X: -.85, Y: .85}}
	diamond   = outline{{Y: 1.2}, {X: 1.2}, {Y: -1.2}, {X: -1.2}}
	lozenge   = outline{{Y: 1.4}, {X: .6}, {Y: -1.4}, {X: -.6}}
	up        = outline{{Y: 1.2}, {X: 1.1, Y: -.8}, {X: -1.1, Y: -.8}}
	down      = up.turned(math.Pi)
	left      = up.turned(math.Pi / 2)
	right     = up.turned(-math.Pi / 2)
	star4     = star(4, .38)
	star5     = star(5, .42)
	star6     = star(6, .5)
	plus      = outline{{X: -.3, Y: 1.2}, {X: .3, Y: 1.2}, {X: .3, Y: .3}, {X: 1.2, Y: .3}, {X: 1.2, Y: -.3}, {X: .3, Y: -.3}, {X: .3, Y: -1.2}, {X: -.3, Y: -1.2}, {X: -.3, Y: -.3}, {X: -1.2, Y: -.3}, {X: -1.2, Y: .3}, {X: -.3, Y: .3}}
	cross     = plus.turned(math.Pi / 4)
	bar       = outline{{X: -1.3, Y: -.4}, {X: 1.3, Y: -.4}, {X: 1.3, Y: .4}, {X: -1.3, Y: .4}}
	pole      = bar.turned(math.Pi / 2)
	bowtie    = outline{{X: -1.2, Y: -1}, {X: -1.2, Y: 1}, {Y: .35}, {X: 1.2, Y: 1}, {X: 1.2, Y: -1}, {Y: -.35}}
	hourglass = bowtie.turned(math.Pi / 2)
	house     = outline{{X: -.9, Y: -1}, {X: .9, Y: -1}, {X: .9, Y: .2}, {Y: 1.2}, {X: -.9, Y: .2}}
	hexagon   = star(3, 1)
	half      = append(outline{{X: -1.1, Y: -.5}, {X: 1.1, Y: -.5}}, outline{{X: .8, Y: .3}, {Y: .7}, {X: -.8, Y: .3}}...)
	wedge     = outline{{X: -1.2, Y: -1}, {X: 1.2, Y: -1}, {X: -1.2, Y: 1.2}}
	stairs    = outline{{X: -1, Y: -1}, {X: 1, Y: -1}, {X: 1}, {}, {Y: 1}, {X: -1, Y: 1}}
)

// star has points points, and between two of them returns to the inner radius;
// 1 makes it a polygon with twice as many corners.
func star(points int, inner vg.Length) outline {
	o := make(outline, 2*points)
	for i := range o {
		r := vg.Length(1.3)
		switch {
		case inner == 1:
			r = 1
		case i%2 == 1:
			r *= inner
		}
		sin, cos := math.Sincos(math.Pi * float64(i) / float64(points))
		o[i] = vg.Point{X: r * vg.Length(sin), Y: r * vg.Length(cos)}
	}
	return o
}

// turned is the outline turned to the left, by an angle in radians.
func (o outline) turned(angle float64) outline {
	t := make(outline, len(o))
	sin, cos := math.Sincos(angle)
	for i, p := range o {
		t[i] = vg.Point{
			X: p.X*vg.Length(cos) - p.Y*vg.Length(sin),
			Y: p.X*vg.Length(sin) + p.Y*vg.Length(cos),
		}
	}
	return t
}

// glyph draws an outline around a point.
type glyph struct {
	outline outline
	hollow  bool
}

// DrawGlyph implements draw.GlyphDrawer.
func (g glyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var p vg.Path
	for i, q := range g.outline {
		to := vg.Point{X: at.X + s.Radius*q.X, Y: at.Y + s.Radius*q.Y}
		if i == 0 {
			p.Move(to)
		} else {
			p.Line(to)
		}
	}
	p.Close()
	if g.hollow {
		c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: hollowWidth})
		c.Stroke(p)
		return
	}
	c.SetColor(s.Color)
	c.Fill(p)
	c.SetLineStyle(draw.LineStyle{Color: color.White, Width: edgeWidth})
	c.Stroke(p)
}
