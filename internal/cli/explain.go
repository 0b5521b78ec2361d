package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// explain searches and prints how each search went. The first search over a connection
// opens a read channel and fills the cache; --repeat shows the later searches.
func (a *App) explain(ctx context.Context, cl *catfish.Client, f clientFlags, q rstar.Rect, limit, repeat int) error {
	all := make([]*catfish.Explanation, repeat)
	for i := range all {
		err := whileStarting(ctx, startPatience, func() (err error) {
			_, all[i], err = cl.Explain(ctx, q, limit)
			return err
		})
		if err != nil {
			return err
		}
	}
	return a.explained(f, all)
}

// explained prints how searches went.
func (a *App) explained(f clientFlags, all []*catfish.Explanation) error {
	if f.json {
		return a.json(struct {
			Searches []*catfish.Explanation `json:"searches"`
		}{all})
	}
	for i, x := range all {
		if len(all) > 1 {
			if err := a.Printf("search %d of %d\n", i+1, len(all)); err != nil {
				return err
			}
		}
		if err := a.Printf("%s", explained(x)); err != nil {
			return err
		}
	}
	return nil
}

// explained formats an explanation for people.
func explained(x *catfish.Explanation) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("path", "%s, transport %s, policy %s", x.Path, x.Transport, x.Policy)
	line("because", "%s", x.Why)
	if s := x.Shard; s != nil {
		line("shard", "%s", shardText(s))
	}
	if e := x.Estimate; e != nil {
		line("expected to read", "%d leaves, %d of these by their first lines, %d inner nodes that are not cached, %d bytes",
			e.Leaves, e.Heads, e.Missing, e.Bytes)
	}
	if x.FellBack {
		line("but", "it changed too often while it was read, or reading it takes too much; ended by a message")
	}
	if x.Retried > 0 {
		line("but", "%d connections broke; began again on another", x.Retried)
	}
	if by := answeredBy(x); by != "" {
		line("answer", "%s", by)
	}
	line("results", "%d", x.Results)
	line("round trips", "%d", x.RoundTrips)
	line("reads", "%d, of which torn %d", x.Reads, x.TornReads)
	line("cached nodes", "%d used, %d repaired", x.CachedNodes, x.Repairs)
	line("restarts", "%d", x.Restarts)
	line("bytes", "%d", x.Bytes)
	line("took", "%v", x.Took)
	for _, s := range x.Steps {
		line("", "%v\t%s", s.Took, s.Name)
	}
	_ = w.Flush() // into memory
	return b.String()
}

// answeredBy says which side moved the answer to a message; "": there was no answer, or
// it came by a plain socket.
func answeredBy(x *catfish.Explanation) string {
	switch {
	case x.Transport == catfish.TransportTCP, x.Path != catfish.FastMessaging.String() && !x.FellBack:
		return ""
	case x.AnswerReads > x.AnswersMissed:
		return fmt.Sprintf("fetched by the client: reads of answers %d, of which %d found nothing", x.AnswerReads, x.AnswersMissed)
	case x.AnswerReads > 0:
		return fmt.Sprintf("written by the server, after %d reads that found nothing", x.AnswerReads)
	}
	return "written by the server"
}

// shardText says which shard has a key.
func shardText(s *catfish.ShardAt) string {
	text := fmt.Sprintf("%d of %d", s.Number, s.Of)
	if s.Owner >= 0 {
		text += fmt.Sprintf(", of worker %d", s.Owner)
	}
	return text
}
