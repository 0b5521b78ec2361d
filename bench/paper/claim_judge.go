package paper

import "fmt"

func kops(v Value) string { return fmt.Sprintf("%.4g Kops/s", v.Kops) }

func usedAt(x int, v Value) string {
	return fmt.Sprintf("network %.0f %%, CPU %.0f %% at %s", 100*v.Net, 100*v.CPU, clients(x))
}

func join(why, panel, more string) string {
	if why != "" {
		why += "; "
	}
	return why + panel + ": " + more
}

// at judges a panel at the most clients at which all series were measured; of
// figure 8, at one client. It is false if there are none, or judge is.
func at(v View, experiment, panel string, judge func(x int, s ...Value) (Verdict, bool), series ...Series) (Verdict, bool) {
	numbers := v.Clients(experiment)
	for i := len(numbers) - 1; i >= 0; i-- {
		if only := experimentNamed(experiment).Paper; len(only) == 1 && numbers[i] != only[0] {
			continue
		}
		if values, ok := valuesAt(v, experiment, panel, numbers[i], series...); ok {
			return judge(numbers[i], values...)
		}
	}
	return Verdict{}, false
}

// valuesAt is false unless all series were measured.
func valuesAt(v View, experiment, panel string, x int, series ...Series) (values []Value, ok bool) {
	for _, s := range series {
		value, ok := v.At(experiment, panel, s.Name, x)
		if !ok || value.MeanUs <= 0 {
			return nil, false
		}
		values = append(values, value)
	}
	return values, true
}

// inAll judges all panels of an experiment that were measured.
func inAll(v View, experiment string, judge func(panel string) (Verdict, bool)) (Verdict, bool) {
	all, found := Verdict{Outcome: Held}, false
	for _, p := range experimentNamed(experiment).Panels {
		if got, ok := judge(p.Name); ok {
			found = true
			all.Outcome, all.Why = min(all.Outcome, got.Outcome), join(all.Why, p.Name, got.Why)
		}
	}
	return all, found
}

// first is the latency of a series at its fewest clients.
func first(v View, experiment, panel string, s Series) (clients int, us float64) {
	for _, x := range v.Clients(experiment) {
		if value, ok := v.At(experiment, panel, s.Name, x); ok {
			return x, value.MeanUs
		}
	}
	return 0, 0
}

// last is the most clients of a series.
func last(v View, experiment, panel string, s Series) (clients int) {
	for _, x := range v.Clients(experiment) {
		if _, ok := v.At(experiment, panel, s.Name, x); ok {
			clients = x
		}
	}
	return clients
}

// highestAt compares Catfish with the paper's base lines, TCP through both
// Ethernets if both were measured.
func highestAt(v View, experiment, panel string, x int) (Verdict, bool) {
	s, ok := valuesAt(v, experiment, panel, x, catfish, tcp, polling, single)
	if !ok {
		return Verdict{}, false
	}
	best := max(s[1].Kops, s[2].Kops, s[3].Kops)
	if more, ok := v.At(experiment, panel, tcp40.Name, x); ok {
		best = max(best, more.Kops)
	}
	return Verdict{under(best, s[0].Kops), fmt.Sprintf("%s, the best base line %.4g at %s", kops(s[0]), best, clients(x))}, true
}

// highest judges at every number of clients, and reports the worst.
func highest(experiment string) func(View) (Verdict, bool) {
	return func(v View) (Verdict, bool) {
		return inAll(v, experiment, func(panel string) (worst Verdict, found bool) {
			for _, x := range v.Clients(experiment) {
				if got, ok := highestAt(v, experiment, panel, x); ok && (!found || got.Outcome < worst.Outcome) {
					worst, found = got, true
				}
			}
			return worst, found
		})
	}
}

// sameTrend compares Catfish with its base lines, with and without inserts, at the most
// clients.
func sameTrend(v View) (Verdict, bool) {
	return inAll(v, "hybrid", func(panel string) (all Verdict, ok bool) {
		all.Outcome = Held
		x := last(v, "hybrid", panel, catfish)
		for _, base := range []Series{tcp, polling, single} {
			with, ok1 := valuesAt(v, "hybrid", panel, x, catfish, base)
			without, ok2 := valuesAt(v, "search", panel, x, catfish, base)
			if !ok1 || !ok2 {
				return all, false
			}
			a, b := under(without[0].MeanUs, without[1].MeanUs), under(with[0].MeanUs, with[1].MeanUs)
			outcome := decided(a == b)
			if a == TooClose || b == TooClose {
				outcome = TooClose
			}
			all.Outcome = min(all.Outcome, outcome)
			all.Why = join(all.Why, base.Name, fmt.Sprintf("%.4g and %.4g us, without %.4g and %.4g",
				with[0].MeanUs, with[1].MeanUs, without[0].MeanUs, without[1].MeanUs))
		}
		all.Why += " at " + clients(x)
		return all, true
	})
}

// mostSaved compares what multi-issue saves at the four scales.
func mostSaved(v View) (Verdict, bool) {
	var here, other float64
	why, n := "", 0
	for _, p := range experimentNamed("multi-issue").Panels {
		at(v, "multi-issue", p.Name, func(_ int, s ...Value) (Verdict, bool) {
			saves := 100 * (1 - s[1].MeanUs/s[0].MeanUs)
			why, n = join(why, p.Name, fmt.Sprintf("%.1f %%", saves)), n+1
			if p.Name == "1e-2" {
				here = saves
			} else {
				other = max(other, saves)
			}
			return Verdict{}, true
		}, single, offload)
	}
	return Verdict{under(other, here), why}, n > 1
}
