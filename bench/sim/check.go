package sim

import (
	"context"
	"fmt"
	"io"
	"math"
)

// Checked is one measured number and its simulation.
type Checked struct {
	Of        string  `json:"of"`
	Measured  float64 `json:"measured"`
	Simulated float64 `json:"simulated"`
	Ratio     float64 `json:"ratio"` // simulated/measured
}

// Near is the largest error of a good simulation of a measured run.
const Near = 0.20

// Far reports whether the simulation is off by more than Near.
func (c *Checked) Far() bool { return math.Abs(c.Ratio-1) > Near }

// Check simulates the measured runs, with an unchanged cluster.
func Check(ctx context.Context, cl *Cluster, goals []Goal) ([]Checked, error) {
	var all []Checked
	for _, g := range goals {
		v, err := g.Measure(ctx, cl)
		if err != nil {
			return all, err
		}
		all = append(all, Checked{Of: g.Of, Measured: g.Want, Simulated: v, Ratio: v / g.Want})
	}
	return all, nil
}

// WriteChecked writes the comparison as a table in Markdown.
func WriteChecked(w io.Writer, cl *Cluster, all []Checked) error {
	fmt.Fprintf(w, "Simulated, cluster %s: %s\n\n", cl.Name, cl.About)
	fmt.Fprintln(w, "| of | measured | simulated | ratio | |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	far := 0
	for i := range all {
		c, mark := &all[i], ""
		if c.Far() {
			mark = "**off**"
			far++
		}
		fmt.Fprintf(w, "| %s | %.5g | %.5g | %.2f | %s |\n", c.Of, c.Measured, c.Simulated, c.Ratio, mark)
	}
	_, err := fmt.Fprintf(w, "\n%d of %d are off by more than %.0f %%.\n", far, len(all), 100*Near)
	if err != nil {
		return fmt.Errorf("sim: writing the table: %w", err)
	}
	return nil
}
