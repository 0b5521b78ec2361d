package main

import (
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
)

// steps shows the progress of a run of many steps: a bar on a terminal, else
// a line for each step. One goroutine at a time uses it.
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

// note shows on a terminal what the run does; a log only has the steps.
func (p *steps) note(s string) {
	if p.bar != nil {
		p.bar.Describe(s)
	}
}

// begin shows the number of the next step, of how many.
func (p *steps) begin(n, of int, what string) {
	p.line(fmt.Sprintf("%d/%d %s", n, of, what))
	p.set(n-1, of)
}

// set moves the bar.
func (p *steps) set(done, of int) {
	if p.bar != nil && of > 0 {
		p.bar.ChangeMax(of)
		_ = p.bar.Set(done) // A drawing error is not worth failing for.
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
