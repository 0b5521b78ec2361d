package cluster

import (
	"fmt"
	"io"
	"slices"
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
	fmt.Fprintf(t.W, "coordinator: %s\n", s.Coordinator)
	if len(s.Groups) > 0 {
		fmt.Fprintf(t.W, "groups:      %s\n", strings.Join(s.Groups, ", "))
	}
	readers, writers := []string{fmt.Sprintf("%d readers by message, %d one-sided", readersOfPath, readersOfPath)}, noteWriters
	if slices.Contains(s.Paths, HTTP) { // then boxes are written, too
		readers, writers = append(readers, fmt.Sprintf("%d over HTTP", webReaders)), writers+1
	}
	if len(s.Groups) > 0 {
		writers *= 2 // those to the first group, and to the others
	}
	fmt.Fprintf(t.W, "members:     %s\nmap:         %d features\ntransport:   %s\nclients:     %s; %d writers\n\n",
		strings.Join(s.Members, ", "), s.Features, names.Transport(s.Transport), strings.Join(readers, ", "), writers)
	fmt.Fprint(t.W, "  time  writes/s")
	for _, path := range s.Paths {
		fmt.Fprintf(t.W, "  %s/s", path)
	}
	fmt.Fprintln(t.W)
}

// Frame prints a line.
func (t Text) Frame(f Frame) {
	fmt.Fprintf(t.W, "%5.1fs  %8.0f", f.At.Seconds(), f.Writes)
	for _, path := range Paths {
		if n, ok := f.Reads[path]; ok {
			fmt.Fprintf(t.W, "  %*.0f", len(path+"/s"), n)
		}
	}
	fmt.Fprintln(t.W)
}

// ofFirst names a member, with its group if there are several.
func (s *Started) ofFirst(member string) string {
	if len(s.Groups) == 0 {
		return member
	}
	return member + " of " + s.Groups[0]
}

// String is the summary for people.
func (s *Summary) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-24s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "\nsummary: the primary %s was killed, %s took over, %d members are in sync again\n", s.ofFirst(s.Killed), s.Next, s.InSync)
	line("transport", "%s", names.Transport(s.Transport))
	line("time without writes", "%v, from the last one before kill -9 to the first one after it", s.WithoutWrites.Round(time.Millisecond))
	if len(s.Groups) > 0 {
		line("writes to other groups", "%d meanwhile", s.WritesInGap)
		var each []string
		for _, name := range s.Groups {
			each = append(each, fmt.Sprintf("%d in %s", s.Spread[name], name))
		}
		line("features", "%s", strings.Join(each, ", "))
	}
	for _, path := range s.Paths {
		line("reads, "+path, "%d, %d of them while no write was acknowledged, %d failed", s.Reads[path], s.ReadsInGap[path], s.Failed[path])
	}
	line("wrong answers", "%d", s.Wrong)
	line("writes acknowledged", "%d, and %d whose answer was lost with the primary", s.Acknowledged, s.Unknown)
	line("read back", "%d lost, %d doubled", s.Lost, s.Doubled+s.Invented)
	return b.String()
}
