package paper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/report"
)

// Report has the contents of a document.
type Report struct {
	Settings    Settings
	Command     string
	Experiments []Experiment // requested
	Points      map[string]Point
	Micro       map[string]MicroPoint // of figure 9
	Skipped     []string              // cells that could not run, and why
	Simulated   []Simulated           // from elsewhere, may be empty
}

// group has the points of one plot: those of an experiment's panel in one
// network over one transport, and of tcp.
type group struct {
	experiment *Experiment
	panel      Panel
	network    Network
	transport  string
	points     []Point
}

func (g group) name(kind string) string {
	return strings.Join([]string{
		"figure", strings.Join(g.experiment.Figures, "-"), g.panel.Name, g.network.Name, g.transport, kind,
	}, "-")
}

func (g group) title(what string) string {
	return fmt.Sprintf("%s, %s, %s", what, g.panel.Title, g.where())
}

func (g group) where() string { return place{g.network, g.transport}.String() }

// Document makes the report of all points.
func (r Report) Document() *report.Document {
	s, m := r.Settings, r.Settings.Machine
	if s.AsPaper {
		r.Simulated = presetRows(r.Simulated)
	}
	d := &report.Document{
		Title: "Catfish: the paper's experiments on this machine",
		Facts: []report.Fact{
			{Name: "command", Value: r.Command},
			{Name: "commit", Value: s.Commit},
			{Name: "machine", Value: m.String()},
			{Name: "cores", Value: "server on " + harness.Cores(s.ServerCPUs) + ", clients on " + harness.Cores(s.ClientCPUs)},
			{Name: "workload", Value: fmt.Sprintf("%d objects, %d requests a client%s after a tenth as many"+
				" for warming up, %d under way per client, median of %d, seed %d",
				s.Objects, s.Requests, r.atMost(), s.InFlight, s.Repeat, s.Seed)},
			{Name: "tree", Value: bench.TreeText(s.Strategy, s.Inserted)},
			{Name: "preset", Value: r.preset()},
			{Name: "Catfish", Value: fmt.Sprintf("%v, heartbeat every 10 ms, rings of %d KiB", s.Backoff, RingBytes>>10)},
			{Name: "measured", Value: r.period()},
			{Name: "simulated", Value: r.simulated()},
		},
		Warnings: r.Skipped,
	}
	if SharedCores(s) {
		d.Warnings = append(slices.Clip(d.Warnings),
			"SHARED CORES: server and clients ran on the same cores, so no figure here tells"+
				" what either could do; only counts and coarse orderings mean something.")
	}
	cut := 0
	for _, p := range r.Points {
		if p.Row.Cut > 0 {
			cut++
		}
	}
	if cut > 0 {
		d.Warnings = append(slices.Clip(d.Warnings), fmt.Sprintf(
			"CUT: %d of %d points made fewer requests than asked for, since each run ended after %v at the"+
				" latest; the rows say how many. Percentiles of few calls are rough.", cut, len(r.Points), s.Duration))
	}
	d.Sections = append(d.Sections, r.figures(), r.numbers())
	for i := range Experiments {
		if e := &Experiments[i]; r.shows(e) {
			d.Sections = append(d.Sections, r.section(e))
		}
	}
	return d
}

// simulated describes the simulated values.
func (r Report) simulated() string {
	for _, row := range r.Simulated {
		if row.Of != "" && row.Figure != "9" {
			return row.Of
		}
	}
	return "nothing, or it does not say of what"
}

// atMost describes when runs are cut, if they are.
func (r Report) atMost() string {
	if r.Settings.Duration == 0 {
		return ""
	}
	return fmt.Sprintf(" or %v, whichever ends first,", r.Settings.Duration)
}

// shows reports whether an experiment was requested now, or measured before.
func (r Report) shows(e *Experiment) bool {
	for _, asked := range r.Experiments {
		if asked.Name == e.Name {
			return true
		}
	}
	for _, p := range r.Points {
		if p.Experiment == e.Name {
			return true
		}
	}
	return e.Name == microName && len(r.Micro) > 0
}

func (r Report) period() string {
	var all []time.Time
	for _, p := range r.Points {
		all = append(all, p.Measured)
	}
	for _, p := range r.Micro {
		all = append(all, p.Measured)
	}
	if len(all) == 0 {
		return "nothing yet"
	}
	slices.SortFunc(all, time.Time.Compare)
	const day = "2006-01-02 15:04 MST"
	return fmt.Sprintf("%s to %s, %d points", all[0].Format(day), all[len(all)-1].Format(day), len(all))
}

// groups returns those of an experiment, in the order of its panels and of the
// networks' rates, the host first.
func (r Report) groups(e *Experiment) []group {
	var groups []group
	for _, p := range e.Panels {
		type key struct{ network, transport string }
		found := map[key]*group{}
		tcps := map[string][]Point{}
		for _, pt := range r.Points {
			if pt.Experiment != e.Name || pt.Panel != p.Name {
				continue
			}
			if pt.Series == tcp.Name {
				tcps[pt.Network.Name] = append(tcps[pt.Network.Name], pt)
				continue
			}
			k := key{pt.Network.Name, pt.Row.Transport}
			if found[k] == nil {
				found[k] = &group{e, p, pt.Network, pt.Row.Transport, nil}
			}
			found[k].points = append(found[k].points, pt)
		}
		for name, pts := range tcps {
			alone := true
			for k, g := range found {
				if k.network == name {
					g.points = append(g.points, pts...)
					alone = false
				}
			}
			if alone {
				found[key{name, tcp.Name}] = &group{e, p, pts[0].Network, tcp.Name, pts}
			}
		}
		var here []group
		for _, g := range found {
			here = append(here, *g)
		}
		slices.SortFunc(here, func(a, b group) int {
			return cmp.Or(cmp.Compare(a.network.Rate, b.network.Rate), strings.Compare(a.transport, b.transport))
		})
		groups = append(groups, here...)
	}
	for _, g := range groups {
		slices.SortFunc(g.points, func(a, b Point) int {
			return cmp.Or(cmp.Compare(a.Row.Clients, b.Row.Clients), cmp.Compare(rank(a.Series), rank(b.Series)))
		})
	}
	return groups
}

// section is an experiment's plots, and its rows as tables, group by group.
func (r Report) section(e *Experiment) report.Section {
	if e.Name == microName {
		return r.microSection(e)
	}
	s := report.Section{
		Heading: fmt.Sprintf("Figure %s: %s", strings.Join(e.Figures, " and "), e.Title),
		Text:    []string{"Assumed: " + e.Assumed},
	}
	groups := r.groups(e)
	if len(groups) == 0 {
		s.Text = append(s.Text, "No point of this figure was measured.")
	}
	for _, g := range groups {
		part := report.Section{
			Heading: fmt.Sprintf("Figure %s: %s, %s", strings.Join(e.Figures, " and "), g.panel.Title, g.where()),
			Plots:   g.plots(), Tables: []report.Table{g.table()},
		}
		if t := g.ratios(); len(t.Rows) > 0 {
			part.Tables = append(part.Tables, t)
		}
		s.Parts = append(s.Parts, part)
	}
	return s
}

// numbers are the tables that compare the paper's numbers and claims with
// ours.
func (r Report) numbers() report.Section {
	columns := columns(slices.Collect(maps.Values(r.Points)))
	return report.Section{
		Heading: "The paper's numbers and claims beside ours",
		Text: []string{
			"The paper: 9 machines of 2 x 14 cores, ConnectX-5 cards of 100 Gbit/s, up to 256 clients on" +
				" 8 of them. Real: this machine, as above; in brackets the number of clients, the largest that" +
				" was run where the paper's is larger. Simulated values, if there are any, are of the file of --simulated; (fitted): the simulator's" +
				" parameters were chosen so that it comes out; (seen): it helped to choose an assumption.",
		},
		Tables: []report.Table{
			r.table("Numbers", "paper", Numbers, columns),
			r.table("The same against stronger base lines, which the paper does not have:"+
				" event-driven fast messaging, and offloading with all reads at once", "the paper's, of its own", Stronger(), columns),
			r.claims(columns),
		},
	}
}

// head begins a table with a column for each view of ours.
func head(columns []*column, first ...string) []string {
	for _, c := range columns {
		first = append(first, "real, "+c.String())
	}
	if len(columns) == 0 {
		first = append(first, "real")
	}
	return first
}

const notMeasured = "not measured"

// cells has the value of each of our views.
func cells(columns []*column, of func(View) (fmt.Stringer, bool)) []string {
	var row []string
	for _, c := range columns {
		cell := notMeasured
		if o, ok := of(c); ok {
			cell = o.String()
		}
		row = append(row, cell)
	}
	if len(columns) == 0 {
		row = append(row, notMeasured)
	}
	return row
}

func (r Report) table(caption, paper string, numbers []Number, columns []*column) report.Table {
	t := report.Table{Caption: caption}
	t.Head = append(head(columns, "figure", "what", "key", paper, "simulated"), "the text leaves open")
	for _, n := range numbers {
		sim := ""
		if v, ok := n.simulated(r.Simulated); ok {
			sim = v.String()
		}
		row := []string{n.Figure, n.What(), fmt.Sprintf("%s %s x=%d", n.Name(), n.Metric, n.X),
			fmt.Sprintf("%.6g", n.Value), sim}
		row = append(row, cells(columns, func(v View) (fmt.Stringer, bool) { return n.Find(v) })...)
		t.Rows = append(t.Rows, append(row, n.Guess))
	}
	return t
}

func (r Report) claims(columns []*column) report.Table {
	t := report.Table{Caption: "What the text claims", Head: head(columns, "figure", "claim", "simulated")}
	for _, c := range Claims {
		sim := ""
		if v, mark, ok := c.simulated(r.Simulated); ok {
			sim = v.String() + mark
		}
		t.Rows = append(t.Rows, append([]string{c.Figure, c.Text, sim},
			cells(columns, func(v View) (fmt.Stringer, bool) { return c.Judge(v) })...))
	}
	return t
}

// rank is a series' place in legends and tables.
func rank(series string) int {
	place, _ := report.Rank(series)
	return place
}

func titleOf(series string) string {
	if series == fetch.Name {
		return fetch.Title
	}
	for _, e := range Experiments {
		for _, s := range e.Series {
			if s.Name == series {
				return s.Title
			}
		}
	}
	return series
}
