package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// shares shows the finished share of each of several tasks: as a bar on a
// terminal, else as a line every few seconds.
type shares struct {
	w    io.Writer
	bar  *progressbar.ProgressBar
	what string
	next time.Time
}

// shareSteps is the number of steps of a bar.
const shareSteps = 1000

// shareEvery is the interval of lines on an output that is no terminal.
const shareEvery = 5 * time.Second

func newShares(w io.Writer, terminal bool) *shares {
	p := &shares{w: w, next: time.Now().Add(shareEvery)}
	if terminal {
		p.bar = progressbar.NewOptions(shareSteps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// label begins the next task.
func (p *shares) label(what string) {
	p.what = what
	if p.bar != nil {
		p.bar.Reset()
		p.bar.Describe(what)
	}
}

// share sets the finished share of the task, 0 to 1.
func (p *shares) share(done float64) {
	if p.bar != nil {
		_ = p.bar.Set(int(done * shareSteps)) // A drawing error is not worth failing for.
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(shareEvery)
		fmt.Fprintf(p.w, "%s: %.0f %%\n", p.what, 100*done)
	}
}

// end removes the bar.
func (p *shares) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
}
