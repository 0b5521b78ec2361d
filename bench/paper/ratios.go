package paper

import (
	"fmt"

	"github.com/catfish-index/catfish/bench/report"
)

// ratios has for each number of clients the best series, and the others'
// ratios to it: the orderings that the paper's figures show.
func (g group) ratios() report.Table {
	t := report.Table{
		Caption: g.title("Which scheme wins, by throughput"),
		Head: []string{"clients", "wins", "Catfish by the better of fast messaging and offloading",
			"fast messaging by TCP", "Catfish by TCP"},
	}
	for _, x := range g.clients() {
		ops := map[string]float64{}
		best := ""
		for _, p := range g.points {
			if float64(p.Row.Clients) != x {
				continue
			}
			ops[p.Series] = p.Row.OpsPerS
			if best == "" || p.Row.OpsPerS > ops[best] {
				best = p.Series
			}
		}
		if len(ops) < 2 {
			continue // No series to compare with.
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%g", x), titleOf(best),
			times(ops[catfish.Name], max(ops[fast.Name], ops[offload.Name])),
			times(ops[fast.Name], ops[tcp.Name]), times(ops[catfish.Name], ops[tcp.Name]),
		})
	}
	return t
}

// times is a quotient, or a dash if one of them was not measured.
func times(a, b float64) string {
	if a == 0 || b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}
