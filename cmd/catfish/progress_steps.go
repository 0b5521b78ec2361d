package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
)

// steps shows how far a run of many steps is: a bar on a terminal, else a
// line for each step. It is used by one goroutine at a time.
type steps struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

func newSteps(w io.Writer, terminal bool) *steps {
	p := &steps{w: w}
	if terminal {
		p.bar = progressbar.NewOptions(1,
			progressbar.OptionSetWriter(w),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(false), // Steps differ; the caller knows.
			progressbar.OptionClearOnFinish())
	}
	return p
}

// note tells a terminal what goes on; a log has the steps.
func (p *steps) note(s string) {
	if p.bar != nil {
		p.bar.Describe(s)
	}
}

// begin says which step of how many is next.
func (p *steps) begin(n, of int, what string) {
	p.line(fmt.Sprintf("%d/%d %s", n, of, what))
	p.set(n-1, of)
}

// set moves the bar.
func (p *steps) set(done, of int) {
	if p.bar != nil && of > 0 {
		p.bar.ChangeMax(of)
		_ = p.bar.Set(done) // A bar that cannot be drawn is not worth failing.
	}
}

// line prints a line above the bar.
func (p *steps) line(s string) {
	if p.bar != nil {
		_ = p.bar.Clear() // As above.
	}
	fmt.Fprintln(p.w, s)
}

// end removes the bar.
func (p *steps) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}
