package paper

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/catfish-index/catfish/bench/sim"
)

// tcp1G is TCP over the slower of the paper's two Ethernets, in figure 9.
const tcp1G = "tcp-1g"

// microSeries are the lines of the paper's figure 9, simulated.
var microSeries = []struct {
	name  string
	op    sim.MicroOp
	gbits float64
}{
	{tcp1G, sim.MicroTCP, 1}, {tcp40.Name, sim.MicroTCP, fasterEthernet},
	{"read", sim.MicroRead, 0}, {"write", sim.MicroWrite, 0},
}

// PredictMicro simulates figure 9: the latency of each of its lines, size by
// size in bytes, which are the rows' X.
func PredictMicro(cl *sim.Cluster, sizes []int) ([]Simulated, error) {
	var rows []Simulated
	for _, s := range microSeries {
		for _, n := range sizes {
			us, err := cl.MicroUs(s.op, n, s.gbits)
			if err != nil {
				return nil, err
			}
			rows = append(rows, Simulated{Figure: "9", Series: s.name, X: float64(n), Metric: MeanUs, Value: us, Of: "cluster " + cl.Name})
		}
	}
	return rows, nil
}

// WriteJSON writes the row as one line, which ReadSimulated reads.
func (s Simulated) WriteJSON(w io.Writer) error {
	line := struct {
		Simulated
		IsSimulated bool `json:"simulated"` // as every row of bench says
	}{s, true}
	if err := json.NewEncoder(w).Encode(line); err != nil {
		return fmt.Errorf("paper: writing a row: %w", err)
	}
	return nil
}

// WriteMicro writes the rows of PredictMicro as a table in Markdown.
func WriteMicro(w io.Writer, cl *sim.Cluster, rows []Simulated) error {
	head := []string{"bytes"}
	for _, s := range microSeries {
		head = append(head, paperLooks[s.name].name+", us", "MB/s")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Figure 9, simulated, cluster %s: one request without other load. The model has no bus behind"+
		" a card, so Read and Write hardly differ.\n\n| %s |\n|%s\n",
		cl.Name, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	each := len(rows) / len(microSeries)
	for i := range each {
		fmt.Fprintf(&b, "| %.0f |", rows[i].X)
		for j := range microSeries {
			r := rows[j*each+i]
			fmt.Fprintf(&b, " %.4g | %.4g |", r.Value, r.X/r.Value)
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("paper: writing the table: %w", err)
	}
	return nil
}
