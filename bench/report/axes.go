package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

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
		g.X.Tick.Marker = ticks(p.Ticks, &g.X)
	}
}

// ticks labels the values, except those whose label would overlap that of the
// next larger one.
func ticks(values []float64, a *plot.Axis) plot.ConstantTicks {
	const axisWidth = plotWidth - 5*fontSize // Less what is left of it.
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	t := make(plot.ConstantTicks, len(values))
	next := vg.Length(math.Inf(1))
	for i, v := range slices.Backward(values) {
		t[i].Value = v
		label := number(v)
		at, half := vg.Length(a.Norm(v))*axisWidth, labelWidth(label)/2
		if at+half+2 <= next {
			t[i].Label, next = label, at-half
		}
	}
	return t
}

// decades widens a logarithmic axis to whole powers of ten: only these are
// labelled, and between two of them the axis would have no number.
func decades(a *plot.Axis) {
	a.Min, a.Max = math.Pow10(power(a.Min, math.Floor)), math.Pow10(power(a.Max, math.Ceil))
}

// power is the exponent of ten below or above a value, which rounds it.
// Logarithms are inexact: a value that is a power of ten has its own.
func power(v float64, round func(float64) float64) int {
	l := math.Log10(v)
	if near := math.Round(l); math.Abs(l-near) < 1e-9 {
		return int(near)
	}
	return int(round(l))
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
	a.Tick.Marker = logTicks{}
}

// logTicks labels powers of ten. Those of gonum miss the first power, or
// add one after the last, where a logarithm is inexact.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := power(lo, math.Floor); e <= power(hi, math.Ceil); e++ {
		for i := 1; i < 10; i++ {
			v := float64(i) * math.Pow10(e)
			if v < lo || v > hi {
				continue
			}
			ticks = append(ticks, plot.Tick{Value: v})
			if i == 1 {
				ticks[len(ticks)-1].Label = number(v)
			}
		}
	}
	return ticks
}

// shortTicks writes short numbers.
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

// number is short: 1.2M, 350k, 1239, 0.5. Up to four digits stay as they
// are, so that thousands of a unit such as Kops/s are no "k" of it.
func number(v float64) string {
	for _, u := range []struct {
		at, unit float64
		name     string
	}{{1e9, 1e9, "G"}, {1e6, 1e6, "M"}, {1e4, 1e3, "k"}} {
		if math.Abs(v) >= u.at {
			return fmt.Sprintf("%.4g%s", v/u.unit, u.name)
		}
	}
	text := fmt.Sprintf("%.4g", v)
	if short, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(v) >= 1e-6 {
		return strconv.FormatFloat(short, 'f', -1, 64) // No exponent.
	}
	return text
}
