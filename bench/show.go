package bench

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/names"
)

// TextShow draws a demo as text: one line per frame, or, live, a picture
// that is redrawn in place on a terminal that knows ANSI escapes.
type TextShow struct {
	W    io.Writer
	Live bool

	header  []string
	drawn   int  // lines of the last picture
	backOff bool // the policy has a back-off to show
	callers int  // goroutines that search
	past    []Frame
}

const (
	// barWidth and historyLines make the picture fit 80 by 24.
	barWidth     = 40
	historyLines = 8
)

// Note prints a step of the preparation.
func (t *TextShow) Note(s string) { fmt.Fprintln(t.W, s) }

// Begin prints the processes and their cores.
func (t *TextShow) Begin(s ServerReady, i Info, c DemoConfig) {
	t.header = []string{
		"transport: " + names.Transport(i.Transport),
		fmt.Sprintf("server:    %s, %d objects of %s, on %s",
			s.Addr, s.Objects, c.Dataset, harness.Cores(c.ServerCPUs.String())),
		fmt.Sprintf("clients:   %d in %d processes, on %s, policy %s",
			c.Procs*c.Clients, c.Procs, harness.Cores(c.ClientCPUs.String()), i.Policy),
	}
	t.callers = c.Procs * c.Clients * c.InFlight
	t.header = append(t.header, fmt.Sprintf("load:      %d callers with wide searches: first few a second, then all that they can get, then few", t.callers))
	for _, l := range t.header {
		fmt.Fprintln(t.W, l)
	}
	t.backOff = strings.HasPrefix(i.Policy, "paper")
	fmt.Fprintf(t.W, "\n%s\n", t.legend())
	if !t.Live {
		fmt.Fprintln(t.W, t.frameHead())
	}
}

// legend explains the columns that do not explain themselves.
const legend = "asked: searches/s that callers who rest ask for at most; all: they do not rest\n" +
	"server: its own share of its cores; cores: all use of them"

const frameHead = "  time  asked   fast/s offload/s  server  cores   p50 us    p99 us"

// legend is the constant and explains the policy's columns: the state of the
// back-off, if it has one, or the share that is offloaded.
func (t *TextShow) legend() string {
	if t.backOff {
		return legend + ", paper offloads if\n" +
			"over 95%; r_busy: busy findings in a row; r_off: searches still to offload\n"
	}
	return legend + "; offl: offloaded\n"
}

func (t *TextShow) frameHead() string {
	if t.backOff {
		return frameHead + " r_busy r_off"
	}
	return frameHead + "   offl"
}

func (t *TextShow) frameLine(f Frame) string {
	asked := "all"
	if f.Pause > 0 {
		asked = fmt.Sprintf("%.0f", float64(t.callers)/f.Pause.Seconds())
	}
	line := fmt.Sprintf("%5.1fs %6s %8.0f %9.0f  %5.1f%% %5.1f%% %8.1f %9.1f",
		f.At.Seconds(), asked, f.FastPerS, f.OffPerS, 100*f.ServerCPU,
		100*f.CoresCPU, stats.Micros(f.P50), stats.Micros(f.P99))
	if t.backOff {
		return line + fmt.Sprintf(" %6d %5d", f.Busy, f.Left)
	}
	return line + fmt.Sprintf(" %5.1f%%", 100*stats.Ratio(f.OffPerS, f.FastPerS+f.OffPerS))
}

// Frame prints a line, or redraws the picture.
func (t *TextShow) Frame(f Frame) {
	if !t.Live {
		fmt.Fprintln(t.W, t.frameLine(f))
		return
	}
	t.past = append(t.past, f)
	if len(t.past) > historyLines {
		t.past = t.past[1:]
	}
	total := f.FastPerS + f.OffPerS
	lines := []string{
		fmt.Sprintf("server CPU  %s %5.1f%%", bar(f.ServerCPU), 100*f.ServerCPU),
		fmt.Sprintf("fast        %s %.0f/s", bar(stats.Ratio(f.FastPerS, total)), f.FastPerS),
		fmt.Sprintf("offloaded   %s %.0f/s", bar(stats.Ratio(f.OffPerS, total)), f.OffPerS),
		t.choice(f),
		"", t.frameHead(),
	}
	for _, p := range t.past {
		lines = append(lines, t.frameLine(p))
	}
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", t.drawn) // Up to its first line.
	}
	for _, l := range lines {
		b.WriteString(l + "\x1b[K\n") // Clear the rest of a longer old line.
	}
	t.drawn = len(lines)
	fmt.Fprint(t.W, b.String())
}

// choice says how many clients offload.
func (t *TextShow) choice(f Frame) string {
	s := fmt.Sprintf("%d of %d clients offload", f.Offloads, f.Clients)
	if t.backOff {
		return fmt.Sprintf("back-off    %s, r_busy up to %d, r_off up to %d", s, f.Busy, f.Left)
	}
	return "choice      " + s
}

// End prints the summary.
func (t *TextShow) End(s Summary) {
	total := s.Fast + s.Offload
	fmt.Fprintf(t.W, "\nsummary: %d searches in %.1f s: %d by fast messaging, %d offloaded (%.1f%%)\n",
		total, s.Elapsed.Seconds(), s.Fast, s.Offload,
		100*stats.Ratio(float64(s.Offload), float64(total)))
	if total > 0 {
		fmt.Fprintf(t.W, "         a search found %.0f objects, and all searches up to %.1f million objects/s\n",
			float64(s.Results)/float64(total), s.PeakResults/1e6)
	}
	fmt.Fprintf(t.W, "         up to %.0f searches/s, server CPU up to %.1f%%\n"+
		"         latency p50 %.1f us, p99 %.1f us\n",
		s.PeakPerS, 100*s.PeakCPU, stats.Micros(s.P50), stats.Micros(s.P99))
	first := "no search was offloaded: nothing was to be gained"
	if s.OffloadedFirst >= 0 {
		first = fmt.Sprintf("offloading began within the first %v",
			s.OffloadedFirst.Round(100*time.Millisecond))
	}
	fmt.Fprintf(t.W, "         %s\n         transport: %s\n", first, names.Transport(s.Transport))
}

func bar(share float64) string {
	n := int(min(max(share, 0), 1)*barWidth + 0.5)
	return strings.Repeat("#", n) + strings.Repeat(".", barWidth-n)
}
