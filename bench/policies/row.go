package policies

import (
	"bytes"
	"fmt"

	"github.com/catfish-index/catfish/bench/harness"
)

// row is the part that metrics need of a row of bench run, bench step or bench sim.
type row struct {
	OpsPerS float64  `json:"ops_per_s"`
	P99Us   float64  `json:"p99_us"`
	StepAtS float64  `json:"step_at_s"` // of bench step
	JoinAtS float64  `json:"join_at_s"` // of bench sim
	Series  []sample `json:"series"`
	Commit  string   `json:"commit"`
}

// sample covers the time since the previous sample.
type sample struct {
	AtS     float64 `json:"at_s"`
	OpsPerS float64 `json:"ops_per_s"`
}

func readRows(out []byte) ([]row, error) {
	rows, err := harness.ReadRows[row](bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	return rows, nil
}

// read finds the metric in the rows of a call.
func (m *Metric) read(rows []row) (float64, error) {
	if m.Row >= len(rows) {
		return 0, fmt.Errorf("%d rows, want %d or more", len(rows), m.Row+1)
	}
	r := &rows[m.Row]
	v := 0.0
	switch m.Of {
	case throughput:
		v = r.OpsPerS
	case latency99:
		v = r.P99Us
	case throughputOver:
		v = r.over(m.From.Seconds(), m.To.Seconds())
	}
	if v <= 0 { // A value without a logarithm has no ratio.
		return 0, fmt.Errorf("%s is %g %s, want more than 0", m.name(), v, m.Unit)
	}
	return v, nil
}

func (m *Metric) name() string {
	if m.Label == "" {
		return "the figure"
	}
	return m.Label
}

// over is the mean throughput between two times since the step. A sample
// counts on the side of its middle.
func (r *row) over(from, to float64) float64 {
	at := r.StepAtS + r.JoinAtS // One of them is 0.
	last, took, ops := 0.0, 0.0, 0.0
	for _, s := range r.Series {
		d := s.AtS - last
		if mid := last + d/2 - at; mid > from && mid <= to {
			took += d
			ops += s.OpsPerS * d
		}
		last = s.AtS
	}
	if took == 0 {
		return 0
	}
	return ops / took
}
