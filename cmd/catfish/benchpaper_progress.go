package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/catfish-index/catfish/bench/paper"
)

// paperProgress shows how far a run is: a bar on a terminal, else a line
// for each point. It is used by one goroutine.
type paperProgress struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

func newPaperProgress(w io.Writer, terminal bool, points int) *paperProgress {
	p := &paperProgress{w: w}
	if terminal {
		p.bar = progressbar.NewOptions(points,
			progressbar.OptionSetWriter(w),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false), // Points differ; ours knows.
			progressbar.OptionClearOnFinish())
	}
	return p
}

// note tells a terminal what goes on; a log has the points.
func (p *paperProgress) note(s string) {
	if p.bar != nil {
		p.bar.Describe(s)
	}
}

func (p *paperProgress) point(at paper.Progress) {
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
	if p.bar == nil {
		fmt.Fprintln(p.w, line)
		return
	}
	// A bar that cannot be drawn is not worth failing.
	_ = p.bar.Clear()
	fmt.Fprintln(p.w, line)
	_ = p.bar.Set(at.Done)
}

func (p *paperProgress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}

// roughly is a duration as exact as an estimate deserves.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
