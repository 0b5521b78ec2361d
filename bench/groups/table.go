package groups

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// sheet is a table of a part.
type sheet struct {
	title string
	head  []string
	rows  [][]string
	notes []string
}

// sheets are the tables of rows, those without rows left out.
func sheets(rows []Row) (all []sheet) {
	for _, make := range []func([]Row) sheet{writesSheet, switchSheet, syncSheet, lanesSheet, movesSheet} {
		if s := make(rows); len(s.rows) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// WriteTable writes rows as text.
func WriteTable(w io.Writer, rows []Row) error {
	for _, s := range sheets(rows) {
		fmt.Fprintf(w, "%s\n\n", s.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, r := range append([][]string{s.head}, s.rows...) {
			fmt.Fprintln(t, strings.Join(r, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "\n%s\n\n", strings.Join(s.notes, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// WriteMarkdown writes rows as docs have them.
func WriteMarkdown(w io.Writer, rows []Row) error {
	for i, s := range sheets(rows) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n| %s |\n|%s\n", s.title, strings.Join(s.head, " | "), strings.Repeat("---|", len(s.head)))
		for _, r := range s.rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.Join(s.notes, "\n")); err != nil {
			return err
		}
	}
	return nil
}

func (r *Row) where() string {
	if r.Network == NoNetwork {
		return r.Transport
	}
	return fmt.Sprintf("%s, %.0f us", r.Transport, r.DelayUs)
}

func writesSheet(rows []Row) sheet {
	s := sheet{
		title: "Writes: a group by a server alone",
		head: []string{"network, delay", "sync", "writes", "clients", "servers", "writes/s", "p50 us", "p99 us", "primary CPU us",
			"times alone: writes/s", "mean", "p50", "p99", "CPU"},
		notes: []string{"Medians of rounds, ratios within rounds. The delay is one way, of each packet; sync is --sync of all servers;",
			"primary CPU is the processor time of the primary's process for each write."},
	}
	for _, r := range rows {
		if w := r.Writes; w != nil {
			s.rows = append(s.rows, []string{
				r.where(), r.Sync, w.Kind, fmt.Sprint(w.Clients), setup{w.Members, w.Level}.String(),
				fmt.Sprintf("%.0f", w.Ops), fmt.Sprintf("%.1f", w.P50), fmt.Sprintf("%.1f", w.P99), fmt.Sprintf("%.1f", w.CPU),
				fmt.Sprintf("%.2f", w.OpsTimes), fmt.Sprintf("%.2f", w.MeanTimes), fmt.Sprintf("%.2f", w.P50Times),
				fmt.Sprintf("%.2f", w.P99Times), fmt.Sprintf("%.2f", w.CPUTimes),
			})
		}
	}
	return s
}

func switchSheet(rows []Row) sheet {
	s := sheet{
		title: "Planned switches of the primary of three members, while clients write",
		head: []string{"network, delay", "sync", "switches", "gap p50 ms", "gap p99 ms", "longest gap ms", "50 ms or less", "longest write ms",
			"gap without a switch ms", "command ms", "writes", "errors"},
		notes: []string{"A gap is the longest time around a switch in which no write was acknowledged."},
	}
	for _, r := range rows {
		if w := r.Switch; w != nil {
			s.rows = append(s.rows, []string{
				r.where(), r.Sync, fmt.Sprint(w.Switches), fmt.Sprintf("%.1f", w.GapP50), fmt.Sprintf("%.1f", w.GapP99), fmt.Sprintf("%.1f", w.GapMax),
				fmt.Sprintf("%d of %d", w.NotLonger, w.Switches), fmt.Sprintf("%.1f", w.Longest), fmt.Sprintf("%.1f", w.NoSwitch),
				fmt.Sprintf("%.0f", w.Command), fmt.Sprint(w.Writes), fmt.Sprint(w.Errors),
			})
		}
		if r.Switch != nil && r.Switch.First != "" {
			s.notes = append(s.notes, "The first error over "+r.where()+": "+r.Switch.First)
		}
	}
	return s
}

func syncSheet(rows []Row) sheet {
	s := sheet{
		title: "A new member with an empty directory",
		head: []string{"lanes", "sync", "features", "store MB", "writers", "seconds", "MB/s", "lane MB/s", "memory MB/s", "share of link",
			"primary CPU s", "before", "writes/s before", "meanwhile", "errors"},
		notes: []string{"Seconds are from the start of the new process until it is in sync. The link is the same bytes through a lane alone, or",
			"copied in memory, whichever is slower. The primary's CPU time is that of its process, whose threads cannot be told apart, and before it",
			"what the process used in as long a time before."},
	}
	for _, r := range rows {
		if w := r.Copy; w != nil {
			s.rows = append(s.rows, []string{
				r.where(), r.Sync, fmt.Sprint(w.Objects), fmt.Sprintf("%.1f", float64(w.Bytes)/1e6), map[bool]string{true: "some", false: "none"}[w.Writers],
				fmt.Sprintf("%.2f", w.Seconds), fmt.Sprintf("%.1f", w.MBs), fmt.Sprintf("%.0f", w.LaneMBs), fmt.Sprintf("%.0f", w.MemoryMBs),
				fmt.Sprintf("%.2f", w.Share), fmt.Sprintf("%.2f", w.CPU), fmt.Sprintf("%.2f", w.CPUIdle),
				fmt.Sprintf("%.0f", w.Before), fmt.Sprintf("%.0f", w.During), fmt.Sprint(w.Errors),
			})
		}
	}
	return s
}

func lanesSheet(rows []Row) sheet {
	s := sheet{
		title: "Lanes alone, in one process without a store",
		head:  []string{"lanes", "secondaries", "clients", "way", "mean us", "times strict", "answers a write"},
		notes: []string{"strict asks for an answer to each write, relaxed every 32nd and waits for the card alone: HydraDB's ways, which lose",
			"acknowledged writes, so that no server has them. received is what groups do."},
	}
	for _, r := range rows {
		if w := r.Lane; w != nil {
			s.rows = append(s.rows, []string{
				r.Transport, fmt.Sprint(w.Followers), fmt.Sprint(w.Clients), w.Mode, fmt.Sprintf("%.1f", w.Mean),
				fmt.Sprintf("%.2f", w.Strict), fmt.Sprintf("%.2f", w.Answers),
			})
		}
	}
	return s
}

func movesSheet(rows []Row) sheet {
	s := sheet{
		title: "Moves of a slot between two groups, while clients write ids of the slot and others",
		head: []string{"network, delay", "sync", "members", "features", "moves", "gap p50 ms", "gap p99 ms", "longest gap ms", "without a move ms",
			"others' rate", "lowest", "command s", "writes", "errors"},
		notes: []string{"A gap is the longest time around a move in which no write of the slot was acknowledged. Others' rate is that of writes of other",
			"ids from the command's beginning to its end, by that of the second before. The command ends when the source has dropped the slot."},
	}
	for _, r := range rows {
		if m := r.Move; m != nil {
			s.rows = append(s.rows, []string{
				r.where(), r.Sync, fmt.Sprint(m.Members), fmt.Sprint(m.Objects), fmt.Sprint(m.Moves), fmt.Sprintf("%.1f", m.GapP50),
				fmt.Sprintf("%.1f", m.GapP99), fmt.Sprintf("%.1f", m.GapMax), fmt.Sprintf("%.1f", m.NoMove), fmt.Sprintf("%.2f", m.Others),
				fmt.Sprintf("%.2f", m.OthersMin), fmt.Sprintf("%.1f", m.Command), fmt.Sprint(m.Writes), fmt.Sprint(m.Errors),
			})
		}
		if r.Move != nil && r.Move.First != "" {
			s.notes = append(s.notes, "The first error over "+r.where()+": "+r.Move.First)
		}
	}
	return s
}
