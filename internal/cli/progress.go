package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/catfish-index/catfish/datasets"
)

// progress shows how much of a source was read: a bar on a terminal, else a
// line every few seconds. One goroutine uses it.
type progress struct {
	w     io.Writer
	label string
	src   *datasets.Source
	bar   *progressbar.ProgressBar
	items int64
	began time.Time
	next  time.Time
	stamp bool // lines begin with the time
}

const (
	// progressEvery is the interval of lines on an output that is no terminal:
	// long enough for logs, short enough to show progress.
	progressEvery = 5 * time.Second
	// progressItems is how many items pass between looks at the clock,
	// some milliseconds at the usual speed of reading.
	progressItems = 4096
)

// IsTerminal reports whether an output is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// newProgress begins to show progress, as a bar if w is a terminal.
func newProgress(w io.Writer, terminal bool, label string, src *datasets.Source) *progress {
	now := time.Now()
	p := &progress{w: w, label: label, src: src, began: now, next: now.Add(progressEvery)}
	if terminal {
		_, total, unit := src.Progress()
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetDescription(label),
			progressbar.OptionShowBytes(unit == datasets.Bytes),
			progressbar.OptionShowCount(),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// item counts one item and shows the progress periodically.
func (p *progress) item() {
	p.items++
	if p.items%progressItems != 0 {
		return
	}
	done, total, unit := p.src.Progress()
	if p.bar != nil {
		_ = p.bar.Set64(done) // A drawing error is not worth failing for.
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		of := ""
		if total > 0 {
			of = fmt.Sprintf(", %d%% of %d %s", 100*done/total, total, unit)
		}
		fmt.Fprintf(p.w, "%s%s: %d objects%s\n", p.time(now), p.label, p.items, of)
	}
}

// end removes the bar and prints a summary.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
	skipped := ""
	if n := p.src.Skipped(); n > 0 {
		skipped = fmt.Sprintf(" (%d without a place skipped)", n)
	}
	now := time.Now()
	fmt.Fprintf(p.w, "%s%s: %d objects in %v%s\n", p.time(now), p.label, p.items,
		now.Sub(p.began).Round(time.Millisecond), skipped)
}

// time returns the beginning of a log line.
func (p *progress) time(now time.Time) string {
	if !p.stamp {
		return ""
	}
	return logTime(now) + " "
}

// logTime is the time as slog's text handler writes it.
func logTime(t time.Time) string { return t.Format("time=2006-01-02T15:04:05.000Z07:00") }
