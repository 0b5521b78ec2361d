package paper

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/bench/sim"
)

// WriteJSON writes the point as one line.
func (p Prediction) WriteJSON(w io.Writer) error {
	line := struct {
		Simulated
		Paper       float64 `json:"paper"`
		IsSimulated bool    `json:"simulated"` // as every row of bench says
	}{
		Simulated{
			Figure: p.Figure, Series: p.Name(), X: float64(p.X), Metric: p.Metric, Value: p.Simulated,
			Fitted: p.Fitted, Seen: p.Seen,
		}, p.Value, true,
	}
	if err := json.NewEncoder(w).Encode(line); err != nil {
		return fmt.Errorf("paper: writing a point: %w", err)
	}
	return nil
}

// WritePredictions writes the comparison as a table in Markdown.
func WritePredictions(w io.Writer, cl *sim.Cluster, ps []Prediction) error {
	fmt.Fprintf(w, "Simulated, cluster %s: %s\n\n", cl.Name, cl.About)
	fmt.Fprintln(w, "| figure | what | paper | simulated | ratio | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	missed, predicted := 0, 0
	for i := range ps {
		p := &ps[i]
		mark := ""
		switch {
		case p.Fitted:
			mark = "fitted"
		case p.Missed():
			mark = "**off**"
			missed++
		case p.Seen:
			mark = "seen"
		}
		if p.Missed() && p.Seen {
			mark += ", seen"
		}
		if !p.Fitted {
			predicted++
		}
		fmt.Fprintf(w, "| %s | %s | %.2f | %.2f | %.2f | %s |\n", p.Figure, p.What(),
			p.Value, p.Simulated, p.Ratio(), mark)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d numbers that are not fitted are off by more than %.0f %%; "+
		"docs/paper-simulated.md discusses each.\n", missed, predicted, 100*Off)
	if err != nil {
		return fmt.Errorf("paper: writing the table: %w", err)
	}
	return nil
}
