package main

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench/paper"
)

// paperProgress shows the points of a run as steps.
type paperProgress struct{ *steps }

func (p paperProgress) point(at paper.Progress[paper.Point]) {
	left := ""
	if at.Done < at.Total {
		left = ", about " + roughly(at.Left) + " left"
	}
	cut := ""
	if at.Point.Row.Cut > 0 {
		cut = ", cut: " + paper.Calls(at.Point) + " calls"
	}
	line := fmt.Sprintf("%d/%d %s: %.0f calls/s, mean %.1f us, limited by %s%s%s", at.Done, at.Total,
		at.Point.Key, at.Point.Row.OpsPerS, at.Point.Row.MeanUs, paper.LimitOf(at.Point), cut, left)
	p.line(line)
	p.set(at.Done, at.Total)
}

// micro is point, for figure 9.
func (p paperProgress) micro(at paper.Progress[paper.MicroPoint]) {
	left := ""
	if at.Done < at.Total {
		left = ", about " + roughly(at.Left) + " of figure 9 left"
	}
	r := at.Point.Row
	p.line(fmt.Sprintf("%d/%d %s: mean %.2f us, %.4g MB/s, limited by %s%s", at.Done, at.Total,
		at.Point.Key, r.MeanUs, r.MBPerS, paper.LimitOfMicro(at.Point), left))
	p.set(at.Done, at.Total)
}

// roughly prints a duration as exactly as an estimate deserves.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
