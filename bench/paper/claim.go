package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Claim is a statement of the paper's text, without a number, that a program
// can judge.
type Claim struct {
	Name   string // identifies it in files of simulated values
	Figure string
	Text   string
	// judge returns false if the view lacks the claim's values.
	judge func(View) (Verdict, bool)
}

// Judge judges the claim; false if the view lacks its values.
func (c Claim) Judge(v View) (Verdict, bool) { return c.judge(v) }

// Judge returns a line for each claim that can be judged, for each network and
// transport of the points.
func Judge(points map[string]Point) []string {
	var lines []string
	for _, col := range columns(slices.Collect(maps.Values(points))) {
		var missing []string
		for _, c := range Claims {
			if v, ok := c.Judge(col); ok {
				lines = append(lines, fmt.Sprintf("%s, figure %s: %s %s", col, c.Figure, c.Text, v))
			} else {
				missing = append(missing, c.Name)
			}
		}
		if len(missing) > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d of %d claims of the paper were not measured: %s", col, len(missing), len(Claims),
				strings.Join(missing, ", ")))
		}
	}
	return lines
}

// The thresholds for the paper's words.
const (
	steady = 2.0 // times: a latency that grew by less stayed low, or grew a little
	poor   = 0.5 // of Catfish's throughput
	much   = 2.0 // times: a much higher latency
)

// Claims in the order of the figures. The text in brackets says how words are
// judged.
var Claims = []Claim{
	{"net-first", "2", "At scale 0.01, 1 Gbit/s is full before the server's CPU.",
		func(v View) (Verdict, bool) {
			return at(v, "motivation", "1e-2", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{decided(s[0].Net >= saturated && s[0].CPU < saturated), usedAt(x, s[0])}, s[0].Net >= 0
			}, tcp)
		}},
	{"cpu-first", "2", "At scale 0.00001, the server's CPU is full before 1 Gbit/s.",
		func(v View) (Verdict, bool) {
			return at(v, "motivation", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{decided(s[0].CPU >= saturated && s[0].Net < saturated), usedAt(x, s[0])}, s[0].Net >= 0
			}, tcp)
		}},
	{"events-below", "7", "With the most clients, events have a lower latency than polling.",
		func(v View) (Verdict, bool) {
			return inAll(v, "events", func(panel string) (Verdict, bool) {
				return at(v, "events", panel, func(x int, s ...Value) (Verdict, bool) {
					return Verdict{under(s[1].MeanUs, s[0].MeanUs),
						fmt.Sprintf("%.4g and %.4g us at %s", s[1].MeanUs, s[0].MeanUs, clients(x))}, true
				}, polling, fast)
			})
		}},
	{"events-scale", "7", "Polling's latency grows faster than in proportion to the clients, that of events does not (by a quarter at most).",
		func(v View) (Verdict, bool) {
			return inAll(v, "events", func(panel string) (Verdict, bool) {
				x0, p0 := first(v, "events", panel, polling)
				_, e0 := first(v, "events", panel, fast)
				return at(v, "events", panel, func(x int, s ...Value) (Verdict, bool) {
					n, p, e := float64(x)/float64(x0), s[0].MeanUs/p0, s[1].MeanUs/e0
					return Verdict{min(under(n, p), under(e, 1.25*n)),
						fmt.Sprintf("%.3g and %.3g times with %.3g times the clients", p, e, n)}, x > x0
				}, polling, fast)
			})
		}},
	{"multi-issue", "8", "At every scale, multi-issue has a lower latency than single-issue.",
		func(v View) (Verdict, bool) {
			return inAll(v, "multi-issue", func(panel string) (Verdict, bool) {
				return at(v, "multi-issue", panel, func(_ int, s ...Value) (Verdict, bool) {
					return Verdict{under(s[1].MeanUs, s[0].MeanUs), fmt.Sprintf("%.3g and %.3g us", s[1].MeanUs, s[0].MeanUs)}, true
				}, single, offload)
			})
		}},
	{"multi-issue-most", "8", "Multi-issue saves the most at scale 0.01.", mostSaved},
	{"fast-worst", "10", "At scale 0.00001 and the most clients, fast messaging has the lowest throughput, below TCP's.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				low := under(s[0].Kops, min(s[1].Kops, s[2].Kops, s[3].Kops))
				return Verdict{low, fmt.Sprintf("%s, tcp %.4g, offloading %.4g, Catfish %.4g at %s",
					kops(s[0]), s[1].Kops, s[2].Kops, s[3].Kops, clients(x))}, true
			}, polling, tcp, single, catfish)
		}},
	{"offload-poor", "10", "There, offloading is poor, too (less than half of Catfish's throughput).",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{under(s[0].Kops, poor*s[1].Kops), fmt.Sprintf("%.4g, Catfish %s at %s", s[0].Kops, kops(s[1]), clients(x))}, true
			}, single, catfish)
		}},
	{"offload-below-tcp", "10", "At scale 0.00001 and the most clients, offloading's throughput is not above TCP/IP-1G's.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{under(s[0].Kops, s[1].Kops), fmt.Sprintf("%.4g, tcp %s at %s", s[0].Kops, kops(s[1]), clients(x))}, true
			}, single, tcp)
		}},
	{"messages-preferred", "10", "At scale 0.01 and the most clients, offloading does not help: fast messaging has the higher throughput.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-2", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{under(s[0].Kops, s[1].Kops), fmt.Sprintf("%.4g, messages %s at %s", s[0].Kops, kops(s[1]), clients(x))}, true
			}, single, polling)
		}},
	{"catfish-most", "10", "At every scale and number of clients, Catfish has the highest throughput.", highest("search")},
	{"catfish-both", "10", "At scale 0.00001, when the server's CPU is full, Catfish offloads some of its searches.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				some := s[0].Offload > 0 && s[0].Offload < 1
				outcome := decided(some)
				if some && min(s[0].Offload, 1-s[0].Offload) < margin {
					outcome = TooClose
				}
				return Verdict{outcome, fmt.Sprintf("%.1f %%, CPU %.0f %% at %s", 100*s[0].Offload, 100*s[0].CPU, clients(x))},
					s[0].CPU >= saturated || some
			}, catfish)
		}},
	{"offload-steady", "11", "At scale 0.00001, offloading's latency stays low with more clients (less than twice that of the fewest).",
		func(v View) (Verdict, bool) {
			x0, from := first(v, "search", "1e-5", single)
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{under(s[0].MeanUs, steady*from), fmt.Sprintf("%.4g us, %.4g at %s", from, s[0].MeanUs, clients(x))}, x > x0
			}, single)
		}},
	{"offload-below", "11", "There, with the most clients, it is lower than Catfish's.",
		func(v View) (Verdict, bool) {
			return at(v, "search", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				return Verdict{under(s[0].MeanUs, s[1].MeanUs),
					fmt.Sprintf("%.4g and %.4g us at %s", s[0].MeanUs, s[1].MeanUs, clients(x))}, true
			}, single, catfish)
		}},
	{"tcp-slow", "11", "At every scale, TCP/IP has a much higher latency than Catfish through both Ethernets (more than twice).",
		func(v View) (Verdict, bool) {
			return inAll(v, "search", func(panel string) (Verdict, bool) {
				return at(v, "search", panel, func(x int, s ...Value) (Verdict, bool) {
					return Verdict{under(much*s[0].MeanUs, min(s[1].MeanUs, s[2].MeanUs)),
						fmt.Sprintf("%.4g and %.4g us, Catfish %.4g at %s", s[1].MeanUs, s[2].MeanUs, s[0].MeanUs, clients(x))}, true
				}, catfish, tcp, tcp40)
			})
		}},
	{"catfish-below-fast", "11", "At every scale and the most clients, Catfish's latency is much lower than that of fast messaging (less than half).",
		func(v View) (Verdict, bool) {
			return inAll(v, "search", func(panel string) (Verdict, bool) {
				return at(v, "search", panel, func(x int, s ...Value) (Verdict, bool) {
					return Verdict{under(much*s[0].MeanUs, s[1].MeanUs),
						fmt.Sprintf("%.4g and %.4g us at %s", s[0].MeanUs, s[1].MeanUs, clients(x))}, true
				}, catfish, polling)
			})
		}},
	{"hybrid-most", "12", "With inserts and the most clients, Catfish has the highest throughput at scale 0.00001.",
		func(v View) (Verdict, bool) {
			return highestAt(v, "hybrid", "1e-5", last(v, "hybrid", "1e-5", catfish))
		}},
	{"hybrid-not-most", "12", "There, at scale 0.01 and the power law, it has not.",
		func(v View) (Verdict, bool) {
			all := Verdict{Outcome: Held}
			for _, panel := range []string{"1e-2", "power"} {
				got, ok := highestAt(v, "hybrid", panel, last(v, "hybrid", panel, catfish))
				if !ok {
					return Verdict{}, false
				}
				all.Outcome, all.Why = min(all.Outcome, -got.Outcome), join(all.Why, panel, got.Why)
			}
			return all, true
		}},
	{"inserts-slow-reads", "12", "Inserts slow offloaded searches a little (by less than twice): reads meet writes.",
		func(v View) (Verdict, bool) {
			return at(v, "hybrid", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				search, ok := v.At("search", "1e-5", single.Name, x)
				with, without := s[0].MeanUs, search.MeanUs
				return Verdict{min(under(without, with), under(with, steady*without)),
					fmt.Sprintf("a search takes %.4g us, %.4g without, at %s", with, without, clients(x))}, ok && without > 0
			}, single)
		}},
	{"offload-falls", "12", "With inserts, offloading's throughput falls with more clients: reads meet writes.",
		func(v View) (Verdict, bool) {
			return at(v, "hybrid", "1e-5", func(x int, s ...Value) (Verdict, bool) {
				best, fewer := 0.0, 0
				for _, n := range v.Clients("hybrid") {
					if got, ok := v.At("hybrid", "1e-5", single.Name, n); ok && n < x && got.Kops > best {
						best, fewer = got.Kops, n
					}
				}
				return Verdict{under(s[0].Kops, best), fmt.Sprintf("%s at %s, %.4g at %s", kops(s[0]), clients(x), best, clients(fewer))}, fewer > 0
			}, single)
		}},
	{"hybrid-trend", "13", "With inserts, Catfish's latency is on the same side of each base line's as without them.", sameTrend},
	{"catfish-most-rea02", "14", "On street segments, Catfish has the highest throughput at every number of clients.", highest("rea02")},
	{"catfish-lowest-rea02", "14", "On street segments, Catfish has the lowest latency at every number of clients.",
		func(v View) (worst Verdict, found bool) {
			for _, x := range v.Clients("rea02") {
				s, ok := valuesAt(v, "rea02", "rea02", x, catfish, tcp, polling, single)
				if !ok {
					continue
				}
				best := min(s[1].MeanUs, s[2].MeanUs, s[3].MeanUs)
				if got := under(s[0].MeanUs, best); !found || got < worst.Outcome {
					worst, found = Verdict{got, fmt.Sprintf("%.4g us, the best base line %.4g at %s", s[0].MeanUs, best, clients(x))}, true
				}
			}
			return worst, found
		}},
}
