package attack

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// summary returns a row of the tables in docs/research/attacks.md: the attack, its
// counts, the least rate that an honest client kept and how much larger the p99
// of one became, with the client's name, wrong answers and errors of all of
// them, and the maximum memory of the server.
func (r *Row) summary() string {
	rate, p99 := math.Inf(1), 0.0
	var slowed, delayed string
	wrong, errors := 0, 0
	for i := range r.Clients {
		c := &r.Clients[i]
		wrong += c.Alone.Wrong + c.Beside.Wrong + c.After.Wrong
		errors += c.Beside.Errors
		if kept := c.Beside.Rate / c.Alone.Rate; c.Alone.Rate > 0 && kept < rate {
			rate, slowed = kept, c.Name
		}
		if ratio := c.Beside.P99 / c.Alone.P99; c.Alone.P99 > 0 && ratio > p99 {
			p99, delayed = ratio, c.Name
		}
	}
	const mib = 1 << 20
	return fmt.Sprintf("| %s | %s | %.0f %% (%s) | %.1f (%s) | %d, %d | %d |",
		r.Attack, r.did(), 100*min(rate, 1), slowed, p99, delayed, wrong, errors, r.Beside.Peak/mib)
}

// did returns the attackers' counts, in a fixed order.
func (r *Row) did() string {
	var all []string
	for name, counts := range r.Attackers {
		for what, n := range counts {
			text := fmt.Sprintf("%d %s", n, what)
			if len(r.Attackers) > 1 {
				text = name + ": " + text
			}
			all = append(all, text)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return strings.Compare(strings.TrimLeft(a, "0123456789 "), strings.TrimLeft(b, "0123456789 "))
	})
	return strings.Join(all, ", ")
}
