package kvlocal

import (
	"encoding/json"
	"fmt"
	"io"
)

// Row is a line of any of the tables.
type Row interface {
	// Heading and Line are columns, divided by tabs.
	Heading() string
	Line() string
}

// WriteJSON writes a row as one line of JSON.
func WriteJSON(w io.Writer, r Row) error { return json.NewEncoder(w).Encode(r) }

// Heading implements Row.
func (GetRow) Heading() string {
	return "way\tkeys\tns\tCPU ns\tleast\tmost\trate to the Go map's"
}

// Line implements Row.
func (r GetRow) Line() string {
	return fmt.Sprintf("%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f", r.Way, r.Keys, r.Wall, r.CPU, r.Least, r.Most, r.Rate)
}

// Heading implements Row.
func (PutRow) Heading() string {
	return "updates\tkeys\tupdates/s\tCPU ns\tresident MiB\tspans MiB\tdead MiB\tGo heap MiB\tcollections"
}

// Line implements Row.
func (r PutRow) Line() string {
	const mib = 1 << 20
	return fmt.Sprintf("%d\t%d\t%.0f\t%.0f\t%d\t%d\t%d\t%d\t%d", r.Updates, r.Keys, r.Rate, r.CPU,
		r.Resident/mib, r.Spans/mib, r.Retired/mib, r.Heap/mib, r.GCs)
}

// Heading implements Row.
func (LoadRow) Heading() string {
	return "kind\titems\tbuckets\tseeds\tload at the first stash entry\tleast\tload at growth\tleast"
}

// Line implements Row.
func (r LoadRow) Line() string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%.3f\t%.3f\t%.3f\t%.3f", r.Kind, r.Items, r.Buckets, r.Seeds,
		r.FirstStash, r.FirstStashLeast, r.Growth, r.GrowthLeast)
}

// Heading implements Row.
func (InsertsRow) Heading() string {
	return "kind\titems\tload\tinserts\tns\tloops\tloops/insert\tgave up\tlongest kick\tkicks/insert\tstashed\trefused\tA\tB\tC1\tC2\tC3\tdisagreed\trebuilt"
}

// Line implements Row.
func (r InsertsRow) Line() string {
	n := float64(r.Inserts)
	return fmt.Sprintf("%s\t%d\t%.3f\t%d\t%.0f\t%d\t%.1e\t%d\t%d\t%.3f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d",
		r.Kind, r.Items, r.Load, r.Inserts, r.Ns, r.Loops, float64(r.Loops)/n, r.BoundedOut, r.Longest, float64(r.Kicks)/n,
		r.Stashed, r.Refused, r.CaseA, r.CaseB, r.CaseC1, r.CaseC2, r.CaseC3, r.Disagreed, r.Rebuilt)
}

// Heading implements Row.
func (ShardsRow) Heading() string {
	return "way\tgoroutines\tmaps\tkeys\tmix\tdist\tops/s\tleast\tmost\trate to shared\tbusiest map"
}

// Line implements Row.
func (r ShardsRow) Line() string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%s\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%.2f", r.Way, r.Goroutines, r.Maps, r.Keys, r.Mix, r.Dist,
		r.Rate, r.Least, r.Most, r.Ratio, r.Busiest)
}
