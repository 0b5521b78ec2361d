package paper

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/bench/sim"
)

// WriteJSON writes everything as rows that 'catfish bench paper --simulated'
// reads, one per line.
func (s *Simulation) WriteJSON(w io.Writer) error {
	type key struct {
		figure, series string
		x              float64
		metric         Metric
	}
	written := map[key]bool{}
	write := func(row Simulated, paper float64) error {
		k := key{row.Figure, row.Series, row.X, row.Metric}
		if written[k] {
			return nil // A point of a curve that is also a number.
		}
		written[k] = true
		row.Of = s.Of
		line := struct {
			Simulated
			Paper       float64 `json:"paper,omitempty"`
			IsSimulated bool    `json:"simulated"` // as every row of bench says
		}{row, paper, true}
		if err := json.NewEncoder(w).Encode(line); err != nil {
			return fmt.Errorf("paper: writing simulated values: %w", err)
		}
		return nil
	}
	number := func(p Prediction, paper float64) error {
		if p.HasPreset {
			n := p.Number
			n.Series = literal.Scheme
			row := Simulated{Figure: n.Figure, Series: n.Name(), X: float64(n.X), Metric: n.Metric, Value: p.AsPaper}
			if err := write(row, paper); err != nil {
				return err
			}
		}
		if !p.Found {
			return nil
		}
		return write(Simulated{
			Figure: p.Figure, Series: p.Name(), X: float64(p.X), Metric: p.Metric, Value: p.Simulated,
			Fitted: p.Fitted, Seen: p.Seen,
		}, paper)
	}
	for _, p := range s.Numbers {
		if err := number(p, p.Value); err != nil {
			return err
		}
	}
	for _, p := range s.Stronger { // The paper has no values of these.
		if err := number(p, 0); err != nil {
			return err
		}
	}
	for _, c := range s.Claims {
		row := Simulated{Figure: c.Figure, Series: c.Name, Metric: Holds, Value: c.Outcome.value(), Why: c.Why,
			Fitted: c.Fitted, Seen: c.Seen}
		preset := row
		preset.Series, preset.Value, preset.Why = presetClaim+c.Name, c.AsPaper.Outcome.value(), c.AsPaper.Why
		for _, r := range []Simulated{row, preset} {
			if err := write(r, 0); err != nil {
				return err
			}
		}
	}
	for _, row := range s.Curves {
		if err := write(row, 0); err != nil {
			return err
		}
	}
	return nil
}

// WritePredictions writes the comparison as tables in Markdown.
func WritePredictions(w io.Writer, cl *sim.Cluster, s *Simulation) error {
	fmt.Fprintf(w, "Simulated, cluster %s: %s\n\n%s.\n\n", cl.Name, cl.About, s.Of)
	fmt.Fprint(w, "*As the paper* is the same cluster with Catfish as printed, Algorithm 1 to the letter (scheme"+
		" paper-literal); *ours* is scheme paper. Without a value both are the same.\n\n")
	fmt.Fprintln(w, "| figure | what | paper | as the paper | ours | ratio | |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	missed, predicted, seen := 0, 0, 0
	for i := range s.Numbers {
		p := &s.Numbers[i]
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
		if p.Seen {
			seen++
		}
		if !p.Found {
			fmt.Fprintf(w, "| %s | %s | %.2f | | not reached | | %s |\n", p.Figure, p.What(), p.Value, mark)
			continue
		}
		preset := ""
		if p.HasPreset {
			preset = fmt.Sprintf("%.2f", p.AsPaper)
		}
		fmt.Fprintf(w, "| %s | %s | %.2f | %s | %.2f | %.2f | %s |\n", p.Figure, p.What(),
			p.Value, preset, p.Simulated, p.Ratio(), mark)
	}
	fmt.Fprintf(w, "\n%d of %d numbers that are not fitted are off by more than %.0f %%; %d of the %d were seen.\n",
		missed, predicted, 100*Off, seen, predicted)
	fmt.Fprint(w, "\nAgainst stronger base lines, which the paper does not have: event-driven fast messaging,"+
		" and offloading with all reads at once.\n\n")
	fmt.Fprintln(w, "| figure | what | the paper's, against its own | simulated |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for _, p := range s.Stronger {
		fmt.Fprintf(w, "| %s | %s | %.2f | %.2f |\n", p.Figure, p.What(), p.Value, p.Simulated)
	}
	fmt.Fprintln(w, "\n| figure | the paper claims | as the paper | ours | |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	predictedClaims := map[Outcome]int{}
	for _, c := range s.Claims {
		mark := ""
		switch {
		case c.Fitted:
			mark = "fitted"
		case c.Seen:
			mark = "seen"
		default:
			predictedClaims[c.Outcome]++
		}
		preset := c.AsPaper.String()
		if c.AsPaper == c.Verdict {
			preset = ""
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", c.Figure, c.Text, preset, c.Verdict, mark)
	}
	_, err := fmt.Fprintf(w, "\nClaims that are neither fitted nor seen: %d hold, %d do not hold, %d too close to tell (values within %.0f %%).\n", predictedClaims[Held], predictedClaims[Fails], predictedClaims[TooClose], 100*margin)
	if err != nil {
		return fmt.Errorf("paper: writing the table: %w", err)
	}
	return nil
}
