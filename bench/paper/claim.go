package paper

import (
	"fmt"
	"maps"
	"slices"
)

// Claim is a statement of the paper's text, without a number, that a machine
// can judge.
type Claim struct {
	Name   string // identifies it in files of simulated values
	Figure string
	Text   string
	// judge is false if the view lacks what the claim is about.
	judge func(View) (Verdict, bool)
}

// Verdict is whether a claim holds, and what was looked at.
type Verdict struct {
	Holds bool
	Why   string
}

func (v Verdict) String() string {
	if v.Holds {
		return "holds: " + v.Why
	}
	return "does not hold: " + v.Why
}

// Judge looks a claim up; false if the view lacks what it is about.
func (c Claim) Judge(v View) (Verdict, bool) { return c.judge(v) }

// Judge says a line for each claim that can be judged, for each network and
// transport that points are of.
func Judge(points map[string]Point) []string {
	var lines []string
	for _, col := range columns(slices.Collect(maps.Values(points))) {
		missing := 0
		for _, c := range Claims {
			if v, ok := c.Judge(col); ok {
				lines = append(lines, fmt.Sprintf("%s, figure %s: %s %s", col, c.Figure, c.Text, v))
			} else {
				missing++
			}
		}
		if missing > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d claims of the paper were not measured", col, missing, len(Claims)))
		}
	}
	return lines
}

// steady is how much a latency may grow and still be called constant.
const steady = 2

// Claims in the order of the figures.
var Claims = []Claim{
	{"net-first", "2", "At scale 0.01 the network is full before the server's CPU.",
		func(v View) (Verdict, bool) {
			return at(v, "motivation", "1e-2", func(x int, s ...Value) Verdict {
				return Verdict{s[0].Net >= saturated && s[0].CPU < saturated, usedAt(x, s[0])}
			}, tcp)
		}},
	{"cpu-first", "2", "At scale 0.00001 the server's CPU is full before the network.",
		func(v View) (Verdict, bool) {
			return at(v, "motivation", "1e-5", func(x int, s ...Value) Verdict {
				return Verdict{s[0].CPU >= saturated && s[0].Net < saturated, usedAt(x, s[0])}
			}, tcp)
		}},
	{"events-scale", "7", "With more clients, polling's latency grows faster than that of events.",
		func(v View) (Verdict, bool) {
			return inAll(v, "events", func(panel string) (Verdict, bool) {
				if len(v.Clients("events")) < 2 {
					return Verdict{}, false
				}
				return at(v, "events", panel, func(x int, s ...Value) Verdict {
					p := s[0].MeanUs / first(v, "events", panel, polling)
					e := s[1].MeanUs / first(v, "events", panel, fast)
					return Verdict{p > e, fmt.Sprintf("%.3g and %.3g times at %s", p, e, clients(x))}
				}, polling, fast)
			})
		}},
	{"multi-issue", "8", "At every scale, multi-issue has a lower latency than single-issue.",
		func(v View) (Verdict, bool) {
			return inAll(v, "multi-issue", func(panel string) (Verdict, bool) {
				return at(v, "multi-issue", panel, func(_ int, s ...Value) Verdict {
					return Verdict{s[1].MeanUs < s[0].MeanUs, fmt.Sprintf("%.3g and %.3g us", s[1].MeanUs, s[0].MeanUs)}
				}, single, offload)
			})
		}},
	{"multi-issue-most", "8", "Multi-issue saves the most at scale 0.01.", mostSaved},
	{"fast-worst", "10", "At scale 0.00001 and the most clients, fast messaging has the lowest throughput, below TCP's.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) Verdict {
				low := s[0].Kops <= min(s[1].Kops, s[2].Kops, s[3].Kops)
				return Verdict{low, fmt.Sprintf("%s, tcp %.4g, offloading %.4g, Catfish %.4g Kops/s at %s",
					kops(s[0]), s[1].Kops, s[2].Kops, s[3].Kops, clients(x))}
			}, polling, tcp, single, catfish)
		}},
	{"offload-poor", "10", "There, offloading is poor, too: it has less than half of Catfish's throughput.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) Verdict {
				return Verdict{2*s[0].Kops < s[1].Kops, fmt.Sprintf("%.4g of %s at %s", s[0].Kops, kops(s[1]), clients(x))}
			}, single, catfish)
		}},
	{"catfish-most", "10", "At every scale and the most clients, Catfish has the highest throughput.", highest("search")},
	{"catfish-both", "10", "With a saturated server Catfish offloads some of its searches.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) Verdict {
				return Verdict{s[0].Offload > 0 && s[0].Offload < 1,
					fmt.Sprintf("%.1f %% at %s", 100*s[0].Offload, clients(x))}
			}, catfish)
		}},
	{"offload-steady", "11", "At scale 0.00001, offloading's latency stays low with more clients.",
		func(v View) (Verdict, bool) {
			if len(v.Clients("search")) < 2 {
				return Verdict{}, false
			}
			return at(v, "search", "1e-5", func(x int, s ...Value) Verdict {
				from := first(v, "search", "1e-5", single)
				return Verdict{s[0].MeanUs < steady*from, fmt.Sprintf("%.4g us, %.4g at %s", from, s[0].MeanUs, clients(x))}
			}, single)
		}},
	{"offload-below", "11", "There, with the most clients, it is lower than Catfish's.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) Verdict {
				return Verdict{s[0].MeanUs < s[1].MeanUs,
					fmt.Sprintf("%.4g and %.4g us at %s", s[0].MeanUs, s[1].MeanUs, clients(x))}
			}, single, catfish)
		}},
	{"hybrid-not-most", "12", "With inserts and the most clients, Catfish is not the highest at scale 0.01 and the power law.",
		func(v View) (Verdict, bool) {
			all, found := Verdict{Holds: true}, false
			for _, panel := range []string{"1e-2", "power"} {
				got, ok := highestAt(v, "hybrid", panel)
				found = found || ok
				all.Holds, all.Why = all.Holds && !got.Holds, join(all.Why, panel, got.Why)
			}
			return all, found
		}},
	{"inserts-slow-reads", "12", "Inserts make offloading a little slower: reads meet writes.",
		func(v View) (Verdict, bool) {
			return at(v, "hybrid", "1e-5", func(x int, s ...Value) Verdict {
				without, ok := v.At("search", "1e-5", single.Name, x)
				return Verdict{ok && s[0].Kops < without.Kops, fmt.Sprintf("%s, %.4g without, at %s", kops(s[0]), without.Kops, clients(x))}
			}, single)
		}},
	{"catfish-most-rea02", "14", "On street segments, Catfish has the highest throughput.", highest("rea02")},
}

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

// at judges a panel at the most clients at which all series were measured.
// Without a network, nothing is said of one.
func at(v View, experiment, panel string, judge func(x int, s ...Value) Verdict, series ...Series) (Verdict, bool) {
	numbers := v.Clients(experiment)
	for i := len(numbers) - 1; i >= 0; i-- {
		var values []Value
		for _, s := range series {
			if value, ok := v.At(experiment, panel, s.Name, numbers[i]); ok && value.MeanUs > 0 &&
				(experiment != "motivation" || value.Net >= 0) {
				values = append(values, value)
			}
		}
		if len(values) == len(series) {
			return judge(numbers[i], values...), true
		}
	}
	return Verdict{}, false
}

// inAll judges all panels of an experiment that were measured.
func inAll(v View, experiment string, judge func(panel string) (Verdict, bool)) (Verdict, bool) {
	all, found := Verdict{Holds: true}, false
	for _, p := range experimentNamed(experiment).Panels {
		if got, ok := judge(p.Name); ok {
			found = true
			all.Holds, all.Why = all.Holds && got.Holds, join(all.Why, p.Name, got.Why)
		}
	}
	return all, found
}

// first is the latency of a series at the fewest clients.
func first(v View, experiment, panel string, s Series) float64 {
	for _, x := range v.Clients(experiment) {
		if value, ok := v.At(experiment, panel, s.Name, x); ok {
			return value.MeanUs
		}
	}
	return 0
}

// highestAt compares Catfish with the paper's base lines.
func highestAt(v View, experiment, panel string) (Verdict, bool) {
	return at(v, experiment, panel, func(x int, s ...Value) Verdict {
		best := max(s[1].Kops, s[2].Kops, s[3].Kops)
		return Verdict{s[0].Kops > best, fmt.Sprintf("%s, the best base line %.4g at %s", kops(s[0]), best, clients(x))}
	}, catfish, tcp, polling, single)
}

func highest(experiment string) func(View) (Verdict, bool) {
	return func(v View) (Verdict, bool) {
		return inAll(v, experiment, func(panel string) (Verdict, bool) { return highestAt(v, experiment, panel) })
	}
}

// mostSaved compares what multi-issue saves at the four scales.
func mostSaved(v View) (Verdict, bool) {
	var most float64
	where, why, n := "", "", 0
	for _, p := range experimentNamed("multi-issue").Panels {
		at(v, "multi-issue", p.Name, func(_ int, s ...Value) Verdict {
			saves := 100 * (1 - s[1].MeanUs/s[0].MeanUs)
			why, n = join(why, p.Name, fmt.Sprintf("%.1f %%", saves)), n+1
			if where == "" || saves > most {
				most, where = saves, p.Name
			}
			return Verdict{}
		}, single, offload)
	}
	return Verdict{where == "1e-2", why}, n > 1
}
