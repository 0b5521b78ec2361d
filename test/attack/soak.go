package attack

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench/report"
)

// soakAttacks run beside the honest clients of a soak: client processes that
// are killed, connections that are cut, collections that are created and
// dropped, large answers, and all attacks on records.
func soakAttacks() []Attack {
	return []Attack{
		stopped, resets, collections, longRequests,
		malformedRecords, cursors, leases, shortLived, fullRecords,
	}
}

// soakEvery is how often a soak takes a sample.
const soakEvery = 2 * time.Second

// Soak creates and drops clients, collections and writes for cfg.Duration, and
// returns samples of the server. cfg.Attacks do not matter.
func Soak(ctx context.Context, cfg Config) (samples []Sample, row Row, err error) {
	cfg.Attacks, cfg.Name, cfg.Small = append(soakAttacks(), idleUploads), "soak", true
	qs, err := newQuestions(cfg.Objects)
	if err != nil {
		return nil, row, err
	}
	// Filled collections must come and go within a quarter of a soak.
	cfg.Flags = append([]string{"--slab-bytes", "256MiB"}, cfg.Flags...)
	srv, err := startServer(ctx, cfg.ServerConfig)
	if err != nil {
		return nil, row, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	clients, err := honestClients(ctx, srv.Target, qs, &cfg)
	if err != nil {
		return nil, row, err
	}
	defer closeAll(clients)
	enemies, err := startAttackers(ctx, cfg.Spawn, cfg.Attacks, Job{Target: srv.Target, Small: true})
	if err != nil {
		return nil, row, err
	}
	defer enemies.kill()
	running, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	row = Row{Attack: cfg.Name, Objects: cfg.Objects}
	for _, h := range clients {
		h.cut()
		wg.Go(func() { h.run(running) })
	}
	if err := enemies.begin(); err != nil {
		return nil, row, err
	}
	begun := time.Now()
	for time.Since(begun) < cfg.Duration && err == nil {
		var m Sample
		if m, err = srv.inside(ctx); err == nil {
			m.Seconds = time.Since(begun).Seconds()
			samples = append(samples, m)
			pause(ctx, soakEvery)
		}
	}
	row.cut(clients, func(c *ClientRow) *Part { return &c.Beside })
	row.Seconds = time.Since(begun).Seconds()
	stopping, stop := context.WithTimeout(ctx, stopTime)
	defer stop()
	var ended error
	row.Attackers, ended = enemies.stop(stopping)
	return samples, row, errors.Join(err, ended)
}

// inside returns a sample that includes the values only the server knows.
func (s *server) inside(ctx context.Context) (Sample, error) {
	m, err := s.sample()
	if err = errors.Join(s.died(), err); err != nil {
		return m, err
	}
	st, err := s.status(ctx)
	m.Goroutines, m.Live = st.Memory.Goroutines, st.Memory.Live
	return m, err
}

// A soak's end may hold this much more than its first half: what is held varies
// with the work of the moment.
const (
	soakBytes       = 64 << 20
	soakLive        = 8 << 20
	soakDescriptors = 32
	soakGoroutines  = 64
)

// Grew returns the values that were not flat: the last quarter of the samples
// is compared with the second one. A leak is held in every sample, while large
// answers and new clients are in some, in more of them when attackers get more
// processor. So the least twentieth is compared, not the median.
func Grew(samples []Sample) (grew []string) {
	n := len(samples) / 4
	if n == 0 {
		return []string{"too few samples"}
	}
	for _, m := range measures {
		early, late := low(samples[n:2*n], m.value), low(samples[3*n:], m.value)
		if late > early+m.most {
			grew = append(grew, fmt.Sprintf("%s grew from %.0f to %.0f %s", m.name, early, late, m.unit))
		}
	}
	return grew
}

// measures are the values that must be flat.
var measures = []struct {
	name, file, unit string
	most             float64
	value            func(*Sample) float64
}{
	{"Resident memory", "resident", "MiB", soakBytes >> 20, func(s *Sample) float64 { return float64(s.Resident) / (1 << 20) }},
	{"Live heap", "live", "MiB", soakLive >> 20, func(s *Sample) float64 { return float64(s.Live) / (1 << 20) }},
	{"Descriptors", "descriptors", "open", soakDescriptors, func(s *Sample) float64 { return float64(s.Descriptors) }},
	{"Goroutines", "goroutines", "goroutines", soakGoroutines, func(s *Sample) float64 { return float64(s.Goroutines) }},
	{"Threads", "threads", "threads", 16, func(s *Sample) float64 { return float64(s.Threads) }},
}

// low returns the value that 19 of 20 samples exceed.
func low(samples []Sample, value func(*Sample) float64) float64 {
	v := make([]float64, len(samples))
	for i := range samples {
		v[i] = value(&samples[i])
	}
	slices.Sort(v)
	return v[len(v)/20]
}

// SoakReport draws the samples.
func SoakReport(samples []Sample, row *Row) *report.Document {
	var plots []report.Plot
	for _, m := range measures {
		line := report.Line{Name: m.name}
		for i := range samples {
			line.Points = append(line.Points, [2]float64{samples[i].Seconds / 60, m.value(&samples[i])})
		}
		plots = append(plots, report.Plot{
			Name: "soak-" + m.file, Title: m.name + " of a server while clients and collections come and go",
			X: "time, minutes", Y: m.name + ", " + m.unit, FromZero: true, Lines: []report.Line{line},
		})
	}
	table := report.Table{Head: []string{"client", "per s", "p99 us", "errors", "wrong"}}
	for i := range row.Clients {
		c := &row.Clients[i]
		table.Rows = append(table.Rows, []string{
			c.Name, fmt.Sprintf("%.1f", c.Beside.Rate), fmt.Sprintf("%.0f", c.Beside.P99),
			strconv.Itoa(c.Beside.Errors), strconv.Itoa(c.Beside.Wrong),
		})
	}
	return &report.Document{
		Title: "Soak", Facts: []report.Fact{
			{Name: "objects", Value: strconv.FormatInt(row.Objects, 10)}, {Name: "seconds", Value: fmt.Sprintf("%.0f", row.Seconds)},
		},
		Sections: []report.Section{{Heading: "The server", Plots: plots}, {Heading: "Its clients", Tables: []report.Table{table}}},
	}
}

// WriteSamples writes a line of CSV for each.
func WriteSamples(w io.Writer, samples []Sample) error {
	c := csv.NewWriter(w)
	lines := [][]string{{"seconds", "resident_bytes", "descriptors", "threads", "goroutines", "live_bytes", "log_bytes"}}
	for _, s := range samples {
		lines = append(lines, []string{
			fmt.Sprintf("%.1f", s.Seconds), strconv.FormatInt(s.Resident, 10), strconv.Itoa(s.Descriptors),
			strconv.Itoa(s.Threads), strconv.Itoa(s.Goroutines), strconv.FormatInt(s.Live, 10), strconv.FormatInt(s.LogBytes, 10),
		})
	}
	return c.WriteAll(lines)
}
