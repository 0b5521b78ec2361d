package paper

import (
	"slices"
	"strings"
	"testing"
)

// curves is a View made by hand.
type curves map[spot]Value

func (c curves) At(experiment, panel, series string, clients int) (Value, bool) {
	v, ok := c[spot{experiment, panel, series, clients}]
	return v, ok
}

func (c curves) Stands(_ string, clients int) int { return clients }

func (c curves) Clients(experiment string) []int {
	var n []int
	for p := range c {
		if p.experiment == experiment && !slices.Contains(n, p.clients) {
			n = append(n, p.clients)
		}
	}
	slices.Sort(n)
	return n
}

// paperCurves has roughly the curves of the paper's figures.
func paperCurves() curves {
	c := curves{}
	set := func(experiment, panel, series string, clients int, kops float64) {
		c[spot{experiment, panel, series, clients}] = Value{
			Kops: kops, MeanUs: 1e3 * float64(clients) / kops, Net: -1,
		}
	}
	for _, e := range Experiments {
		for _, p := range e.Panels {
			for _, x := range e.Paper {
				n := float64(x)
				for series, kops := range map[string]float64{
					"tcp": 70, "fast-polling": min(5*n, 60), "offload-single": 6 * n, "paper": 13 * n, "fast": 5 * n,
				} {
					set(e.Name, p.Name, series, x, kops)
				}
			}
		}
	}
	c[spot{"motivation", "1e-2", "tcp", 32}] = Value{Kops: 1, MeanUs: 1, CPU: 0.28, Net: 0.97}
	c[spot{"motivation", "1e-5", "tcp", 32}] = Value{Kops: 1, MeanUs: 1, CPU: 0.99, Net: 0.658}
	for _, p := range experimentNamed("multi-issue").Panels {
		set("multi-issue", p.Name, "offload", 1, 6.5)
	}
	set("multi-issue", "1e-2", "offload", 1, 7)
	for _, panel := range []string{"1e-2", "power"} {
		set("hybrid", panel, "offload-single", 256, 20*256)
	}
	set("hybrid", "1e-5", "offload-single", 256, 5.5*256)
	for _, x := range experimentNamed("events").Paper { // Polling's latency grows by the square.
		for _, panel := range []string{"1e-5", "1e-2"} {
			set("events", panel, "fast-polling", x, 1e4/float64(x))
			set("events", panel, "fast", x, 500)
		}
	}
	set("search", "1e-5", "offload-single", 256, 65)
	set("hybrid", "1e-5", "offload-single", 128, 6*256)
	for _, panel := range []string{"1e-5", "1e-2", "power"} { // Through the faster Ethernet, no better.
		set("search", panel, "tcp-40g", 256, 75)
	}
	set("search", "1e-2", "offload-single", 256, 50)
	// Offloading has the lower latency in figure 11 only where clients pause.
	steady := c[spot{"search", "1e-5", "offload-single", 256}]
	steady.MeanUs = 50
	c[spot{"search", "1e-5", "offload-single", 256}] = steady
	for panel, us := range map[string]float64{"1e-5": 70, "1e-2": 200, "power": 200} {
		v := c[spot{"hybrid", panel, "offload-single", 256}]
		v.MeanUs = us
		c[spot{"hybrid", panel, "offload-single", 256}] = v
	}
	both := c[spot{"search", "1e-5", "paper", 256}]
	both.Offload, both.CPU = 0.6, 1
	c[spot{"search", "1e-5", "paper", 256}] = both
	return c
}

// Each claim holds of the paper's curves, and not of those that contradict it.
func TestClaims(t *testing.T) {
	broken := map[string]func(curves){
		"net-first": func(c curves) {
			c[spot{"motivation", "1e-2", "tcp", 32}] = Value{Kops: 1, MeanUs: 1, CPU: 0.95, Net: 0.97}
		},
		"cpu-first": func(c curves) {
			c[spot{"motivation", "1e-5", "tcp", 32}] = Value{Kops: 1, MeanUs: 1, CPU: 0.5, Net: 0.5}
		},
		"events-below":         func(c curves) { c[spot{"events", "1e-2", "fast", 320}] = Value{Kops: 1, MeanUs: 1e9} },
		"events-scale":         func(c curves) { c[spot{"events", "1e-2", "fast-polling", 320}] = Value{Kops: 1, MeanUs: 1} },
		"multi-issue":          func(c curves) { c[spot{"multi-issue", "1e-4", "offload", 1}] = Value{Kops: 1, MeanUs: 1e9} },
		"multi-issue-most":     func(c curves) { c[spot{"multi-issue", "1e-4", "offload", 1}] = Value{Kops: 1, MeanUs: 1} },
		"fast-worst":           func(c curves) { c[spot{"search", "1e-5", "fast-polling", 256}] = Value{Kops: 75, MeanUs: 1} },
		"offload-poor":         func(c curves) { c[spot{"search", "1e-5", "offload-single", 256}] = Value{Kops: 3000, MeanUs: 1} },
		"offload-below-tcp":    func(c curves) { c[spot{"search", "1e-5", "offload-single", 256}] = Value{Kops: 100, MeanUs: 1} },
		"messages-preferred":   func(c curves) { c[spot{"search", "1e-2", "offload-single", 256}] = Value{Kops: 100, MeanUs: 1} },
		"tcp-slow":             func(c curves) { c[spot{"search", "power", "tcp-40g", 256}] = Value{Kops: 1, MeanUs: 100} },
		"catfish-below-fast":   func(c curves) { c[spot{"search", "1e-2", "fast-polling", 256}] = Value{Kops: 1, MeanUs: 100} },
		"offload-falls":        func(c curves) { c[spot{"hybrid", "1e-5", "offload-single", 128}] = Value{Kops: 1, MeanUs: 1} },
		"hybrid-trend":         func(c curves) { c[spot{"hybrid", "power", "tcp", 256}] = Value{Kops: 1, MeanUs: 1} },
		"catfish-lowest-rea02": func(c curves) { c[spot{"rea02", "rea02", "tcp", 64}] = Value{Kops: 1, MeanUs: 1} },
		"catfish-most":         func(c curves) { c[spot{"search", "power", "tcp-40g", 32}] = Value{Kops: 1e6, MeanUs: 1} },
		"catfish-both":         func(c curves) { c[spot{"search", "1e-5", "paper", 256}] = Value{Kops: 1, MeanUs: 1, CPU: 1} },
		"offload-steady":       func(c curves) { c[spot{"search", "1e-5", "offload-single", 256}] = Value{Kops: 1, MeanUs: 1e3} },
		"offload-below":        func(c curves) { c[spot{"search", "1e-5", "paper", 256}] = Value{Kops: 1, MeanUs: 1} },
		"hybrid-most":          func(c curves) { c[spot{"hybrid", "1e-5", "tcp", 256}] = Value{Kops: 1e6, MeanUs: 1} },
		"hybrid-not-most":      func(c curves) { c[spot{"hybrid", "power", "paper", 256}] = Value{Kops: 1e6, MeanUs: 1} },
		"inserts-slow-reads": func(c curves) {
			c[spot{"hybrid", "1e-5", "offload-single", 256}] = Value{Kops: 1, MeanUs: 1e6}
		},
		"catfish-most-rea02": func(c curves) { c[spot{"rea02", "rea02", "fast-polling", 256}] = Value{Kops: 1e6, MeanUs: 1} },
	}
	paper := paperCurves()
	for _, c := range Claims {
		v, ok := c.Judge(paper)
		if !ok || v.Outcome != Held {
			t.Errorf("%s: %v, %v", c.Name, v, ok)
		}
		if _, ok := c.Judge(curves{}); ok {
			t.Errorf("%s: judged by nothing", c.Name)
		}
		other := paperCurves()
		change := broken[c.Name]
		if change == nil {
			t.Fatalf("%s: no curve that contradicts it", c.Name)
		}
		change(other)
		if v, ok := c.Judge(other); !ok || v.Outcome != Fails || !strings.HasPrefix(v.String(), "does not hold: ") {
			t.Errorf("%s, broken: %v, %v", c.Name, v, ok)
		}
	}
	if len(broken) != len(Claims) {
		t.Errorf("%d claims, want %d", len(Claims), len(broken))
	}
}

// Without a network, no line mentions one.
func TestJudge(t *testing.T) {
	lines := Judge(points(
		point("motivation", "1e-2", "tcp", 8, 1000),
		point("multi-issue", "1e-2", "offload", 1, 4000), point("multi-issue", "1e-2", "offload-single", 1, 2000),
	))
	if len(lines) != 2 || !strings.Contains(lines[0], "host over shm, figure 8: ") ||
		!strings.Contains(lines[0], " holds: 1e-2: 250 and 500 us") || !strings.Contains(lines[1], ": 22 of 23 claims of the paper were not measured: net-first, ") {
		t.Errorf("%q", lines)
	}
}
