package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/bench/harness"
)

// Simulated is a row of a file of simulated values, as 'catfish bench sim
// --table --json FILE' writes it.
type Simulated struct {
	Figure string  `json:"figure"`
	Series string  `json:"series"` // Number.Name, PANEL/SERIES, or Claim.Name; of figure 9 SERIES
	X      float64 `json:"x"`      // clients; 0: all; of figure 9 bytes
	Metric Metric  `json:"metric"`
	Value  float64 `json:"value"`
	// Fitted: the simulator's parameters were fitted to the paper's value.
	// Seen: the value helped to choose an assumption.
	Fitted bool `json:"fitted,omitempty"`
	Seen   bool `json:"seen,omitempty"`
	// Why is the reason of a claim's verdict.
	Why string `json:"why,omitempty"`
	// Of describes the simulation: the same in a whole file, but for figure 9,
	// which depends on a cluster alone.
	Of string `json:"of,omitempty"`
}

func (s Simulated) String() string {
	return fmt.Sprintf("%.4g", s.Value) + s.mark()
}

// mark says in brackets why the value proves less.
func (s Simulated) mark() string {
	switch {
	case s.Fitted:
		return " (fitted)"
	case s.Seen:
		return " (seen)"
	}
	return ""
}

// ErrSimulated is wrapped for a bad file of simulated values.
var ErrSimulated = errors.New("bad file of simulated values")

// ReadSimulated reads an array of rows, or a sequence of rows. Errors wrap
// ErrSimulated.
func ReadSimulated(r io.Reader) ([]Simulated, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulated, err)
	}
	var rows []Simulated
	if text := strings.TrimSpace(string(b)); strings.HasPrefix(text, "[") {
		err = json.Unmarshal(b, &rows)
	} else {
		rows, err = harness.ReadRows[Simulated](strings.NewReader(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulated, err)
	}
	of := ""
	for i, row := range rows {
		if row.Figure != "9" {
			if of == "" {
				of = row.Of
			}
			if row.Of != of {
				return nil, fmt.Errorf("%w: row %d is of %q, others of %q", ErrSimulated, i+1, row.Of, of)
			}
		}
		if !slices.Contains(Figures(), row.Figure) {
			// Not ErrFigure: that is about requested figures.
			return nil, fmt.Errorf("%w: row %d: figure %q, want one of %s", ErrSimulated, i+1,
				row.Figure, strings.Join(Figures(), ", "))
		}
		if !slices.Contains(metrics, row.Metric) {
			return nil, fmt.Errorf("%w: row %d: metric %q, want one of %q", ErrSimulated, i+1, row.Metric, metrics)
		}
	}
	return rows, nil
}

// simulated is a claim's verdict.
func (c Claim) simulated(rows []Simulated) (v Verdict, mark string, ok bool) {
	for _, r := range rows {
		if r.Metric == Holds && r.Figure == c.Figure && r.Series == c.Name {
			return Verdict{outcomeOf(r.Value), r.Why}, r.mark(), true
		}
	}
	return Verdict{}, "", false
}

// simulated is a number's row.
func (n Number) simulated(rows []Simulated) (Simulated, bool) {
	for _, r := range rows {
		if r.Figure == n.Figure && r.Series == n.Name() && int(r.X) == n.X && r.Metric == n.Metric {
			return r, true
		}
	}
	return Simulated{}, false
}
