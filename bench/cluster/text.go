package cluster

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/names"
)

// Text shows a demo as text.
type Text struct{ W io.Writer }

// Note prints a line.
func (t Text) Note(s string) { fmt.Fprintln(t.W, s) }

// Begin prints what runs.
func (t Text) Begin(s Started) {
	fmt.Fprintf(t.W, "coordinator: %s\nmembers:     %s\nmap:         %d features\ntransport:   %s\nclients:     %d readers by message, %d one-sided, %d over HTTP; %d writers\n\n",
		s.Coordinator, strings.Join(s.Members, ", "), s.Features, names.Transport(s.Transport), readersOfPath, readersOfPath, webReaders, noteWriters+1)
	fmt.Fprintln(t.W, "  time  writes/s  message/s  one-sided/s  HTTP/s")
}

// Frame prints a line.
func (t Text) Frame(f Frame) {
	fmt.Fprintf(t.W, "%5.1fs  %8.0f  %9.0f  %11.0f  %6.0f\n", f.At.Seconds(), f.Writes, f.Reads[Message], f.Reads[OneSided], f.Reads[HTTP])
}

// String is the summary for people.
func (s *Summary) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-24s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "\nsummary: the primary %s was killed, %s took over, %d members are in sync again\n", s.Killed, s.Next, s.InSync)
	line("transport", "%s", names.Transport(s.Transport))
	line("time without writes", "%v, from the last one before kill -9 to the first one after it", s.WithoutWrites.Round(time.Millisecond))
	for _, path := range Paths {
		line("reads, "+path, "%d, %d of them while no write was acknowledged, %d failed", s.Reads[path], s.ReadsInGap[path], s.Failed[path])
	}
	line("wrong answers", "%d", s.Wrong)
	line("writes acknowledged", "%d, and %d whose answer was lost with the primary", s.Acknowledged, s.Unknown)
	line("read back", "%d lost, %d doubled", s.Lost, s.Doubled+s.Invented)
	return b.String()
}
