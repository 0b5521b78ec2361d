package cli

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/catfish-index/catfish/internal/places"
)

// placesProgress shows how much of a file of places was read: a bar on a terminal, with
// the rate and the time left, else a line every few seconds.
type placesProgress struct {
	w      io.Writer
	r      *places.Reader
	stored *atomic.Int64
	before int64 // of stored
	bar    *progressbar.ProgressBar
	places int64
	began  time.Time
	next   time.Time
	stamp  bool
	now    func() time.Time
}

// lookPlaces is how many places pass between looks at the clock: some
// milliseconds.
const lookPlaces = 1024

func newPlacesProgress(a *App, r *places.Reader, stored *atomic.Int64) *placesProgress {
	p := &placesProgress{w: a.Err, r: r, stored: stored, before: stored.Load(), now: time.Now, stamp: a.stamp}
	p.began = p.now()
	p.next = p.began.Add(progressEvery)
	if IsTerminal(a.Err) {
		p.stamp = false
		p.bar = progressbar.NewOptions64(r.Stats().Total,
			progressbar.OptionSetWriter(a.Err),
			progressbar.OptionSetDescription("loading "+r.Name()),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// place counts one place, and shows the progress periodically.
func (p *placesProgress) place() {
	if p.places++; p.places%lookPlaces != 0 {
		return
	}
	if p.bar != nil {
		_ = p.bar.Set64(p.r.Stats().Read) // A drawing error is not worth failing for.
		return
	}
	if now := p.now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		fmt.Fprintln(p.w, p.line(now))
	}
}

// line returns the progress as text.
func (p *placesProgress) line(now time.Time) string {
	st, took := p.r.Stats(), now.Sub(p.began)
	text := fmt.Sprintf("%sloading %s: %d features, %s", p.time(now), p.r.Name(), p.places, rateText(p.places, took))
	if st.Total > 0 && st.Read > 0 {
		left := time.Duration(float64(took) * float64(st.Total-st.Read) / float64(st.Read))
		text += fmt.Sprintf(", %d%% of %s, %v left", 100*st.Read/st.Total, sizeText(st.Total), left.Round(time.Second))
	}
	return text
}

// end removes the bar, and after a success prints a summary.
func (p *placesProgress) end(ok bool) {
	if p.bar != nil {
		_ = p.bar.Finish() // As above.
	}
	if now := p.now(); ok {
		n, took := p.stored.Load()-p.before, now.Sub(p.began)
		fmt.Fprintf(p.w, "%sloading %s: %s\n", p.time(now), p.r.Name(), doneText(n, took))
	}
}

func (p *placesProgress) time(now time.Time) string {
	if !p.stamp {
		return ""
	}
	return logTime(now) + " "
}

// doneText says how many features took how long, and their rate if it is meaningful.
func doneText(n int64, took time.Duration) string {
	text := fmt.Sprintf("%d features in %v", n, took.Round(time.Millisecond))
	if n == 0 || took <= 0 {
		return text
	}
	return text + ", " + rateText(n, took)
}

// rateText formats the number per second.
func rateText(n int64, took time.Duration) string {
	if took <= 0 {
		return "0/s"
	}
	return fmt.Sprintf("%.0f/s", float64(n)/took.Seconds())
}
