//go:build linux

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
)

// row is one work of one peer: medians over the rounds.
type row struct {
	Work    string `json:"work"`
	Peer    string `json:"peer"`
	Version string `json:"version"`

	figures
	Features  float64 `json:"features"`            // of an answer, of the checked ones
	Malformed int     `json:"malformed,omitempty"` // checked tiles that do not decode

	Spread map[string][2]float64 `json:"spread,omitempty"` // least and most of the rounds

	Places      int           `json:"places"`
	Connections int           `json:"connections"`
	Rounds      int           `json:"rounds"`
	DurationS   float64       `json:"duration_s"`
	Seed        uint64        `json:"seed"`
	ServerCPUs  string        `json:"server_cpus"`
	LoadCPUs    string        `json:"load_cpus"`
	Commit      string        `json:"commit,omitempty"`
	Machine     bench.Machine `json:"machine"`
}

type figures struct {
	RequestsPerS float64 `json:"requests_per_s"`
	P50Us        float64 `json:"p50_us"`
	P99Us        float64 `json:"p99_us"`
	Bytes        float64 `json:"bytes"` // of an answer, with its headers
}

// summarize sets the figures to medians of the samples, at least one.
func (r *row) summarize(samples []sample) {
	var runs [][]stats.Figure
	for _, s := range samples {
		one := figures{
			RequestsPerS: stats.Ratio(float64(s.Requests), s.DurationUs/1e6), P50Us: s.P50Us, P99Us: s.P99Us,
			Bytes: stats.Ratio(float64(s.Bytes), float64(s.Requests)),
		}
		runs = append(runs, stats.Figures(&one))
	}
	r.Spread = stats.Summarize(stats.Figures(&r.figures), runs)
}

// writeTable prints the rows of all works, with the first peer's requests per
// second as a multiple of each other peer's.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "work\tpeer\trequests/s\t(least to most)\tp50 ms\tp99 ms\tbytes\tfeatures\tfirst is\t")
	var first *row
	for i := range rows {
		r := &rows[i]
		times := ""
		if first == nil || first.Work != r.Work {
			first = r
		} else {
			times = fmt.Sprintf("%.1f times", stats.Ratio(first.RequestsPerS, r.RequestsPerS))
		}
		spread := ""
		if s, ok := r.Spread["requests_per_s"]; ok {
			spread = fmt.Sprintf("%.0f to %.0f", s[0], s[1])
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f\t%s\t%.2f\t%.2f\t%.0f\t%.1f\t%s\t\n",
			r.Work, r.Peer, r.RequestsPerS, spread, r.P50Us/1e3, r.P99Us/1e3, r.Bytes, r.Features, times)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var versions []string
	seen := map[string]bool{}
	for i := range rows {
		if v := rows[i].Peer + ": " + rows[i].Version; !seen[v] {
			seen[v] = true
			versions = append(versions, v)
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(versions, "; "))
	return err
}
