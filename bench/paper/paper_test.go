package paper

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/report"
	library "github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/policy"
)

func settings() Settings {
	return Settings{
		Objects: 1000, Requests: 10, InFlight: 1, Repeat: 1, Seed: 1, Data: "rea02-like",
		Queries: QuerySet, Commit: "abc", Machine: bench.Machine{CPU: "a", Cores: 2},
	}
}

// The paper's parameters are the library's defaults, which bench uses.
func TestParametersAreThePapers(t *testing.T) {
	if library.DefaultHeartbeatInterval != 10*time.Millisecond {
		t.Errorf("heartbeat every %v, want 10 ms", library.DefaultHeartbeatInterval)
	}
	if want := (policy.Backoff{N: BackoffN, T: ThresholdT, Predictor: policy.Latest}); (policy.Backoff{}).WithDefaults() != want {
		t.Errorf("back-off %v, want %v", policy.Backoff{}, want)
	}
	if fastmsg.DefaultRingBytes != RingBytes {
		t.Errorf("rings of %d bytes, want %d", fastmsg.DefaultRingBytes, RingBytes)
	}
}

// Every series is a scheme, every panel a workload that bench takes, and every
// number of the paper belongs to an experiment.
func TestExperimentsAreConsistent(t *testing.T) {
	names := map[string]Experiment{}
	for _, e := range Experiments {
		if _, twice := names[e.Name]; twice || e.Assumed == "" || e.Title == "" {
			t.Errorf("experiment %q", e.Name)
		}
		names[e.Name] = e
	}
	want := []string{"2", "7", "8", "9", "10", "11", "12", "13", "14"}
	if !slices.Equal(Figures(), want) {
		t.Errorf("figures %q, want %q", Figures(), want)
	}
	if err := Validate(settings(), Experiments, []Network{Host, {"1g", 1e9}}, []int{1, 64},
		library.Schemes()[1:]); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, n := range Numbers {
		e := names[n.Experiment]
		if !slices.Contains(e.Figures, n.Figure) {
			t.Errorf("%s: experiment %q has no figure %s", n.What(), n.Experiment, n.Figure)
		}
		has := func(series string) bool {
			return slices.ContainsFunc(e.Series, func(s Series) bool { return s.Name == series })
		}
		if !has(n.Series) || n.Against != "" && !has(n.Against) {
			t.Errorf("%s: no series %q or %q", n.What(), n.Series, n.Against)
		}
		if n.Panel != "" && !slices.ContainsFunc(e.Panels, func(p Panel) bool { return p.Name == n.Panel }) {
			t.Errorf("%s: no panel %q", n.What(), n.Panel)
		}
		key := fmt.Sprint(n.Figure, n.Name(), n.X, n.Metric)
		if seen[key] {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = true
	}
}

func TestSelect(t *testing.T) {
	for figures, want := range map[string]string{
		"all": "motivation events multi-issue micro search hybrid rea02",
		"9":   "micro",
		"11":  "search", "10,11": "search", "14,2": "motivation rea02",
	} {
		sel, err := Select(strings.Split(figures, ","))
		var got []string
		for _, e := range sel {
			got = append(got, e.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", figures, got, err)
		}
	}
	for _, bad := range [][]string{{"3"}, {"all", "x"}, {}} {
		if _, err := Select(bad); !errors.Is(err, ErrFigure) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]Network{
		"host": Host, "1g": {"1g", 1e9}, "10g": {"10g", 1e10}, "100m": {"100m", 1e8},
	} {
		if got, err := ParseNetwork(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "g", "0g", "-1g", "1", "1k", "1.5g", "401g", "9223372036854775807g"} {
		if got, err := ParseNetwork(bad); !errors.Is(err, ErrNetwork) {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
}

func TestCells(t *testing.T) {
	sel, err := Select([]string{"10"})
	if err != nil {
		t.Fatal(err)
	}
	cells := Cells(sel, []Network{Host, {"1g", 1e9}}, []string{"soft", "ofi"}, []int{1, 8})
	keys := map[string]bool{}
	for _, c := range cells {
		for _, s := range c.Series {
			if k := c.Key(s.Name); keys[k] {
				t.Errorf("%s is there twice", k)
			} else {
				keys[k] = true
			}
		}
	}
	// 3 panels, 2 numbers of clients: 8 series on the host, and in the
	// network tcp once and 7 series over each of 2 transports.
	if want := 3 * 2 * (8 + 1 + 7*2); len(keys) != want {
		t.Errorf("%d points, want %d", len(keys), want)
	}
	// Without numbers of clients each experiment uses its own.
	for _, e := range Experiments {
		if len(e.Panels) == 0 {
			continue // Figure 9 searches nothing.
		}
		var got []int
		for _, c := range Cells([]Experiment{e}, []Network{Host}, nil, nil) {
			if c.Panel.Name == e.Panels[0].Name {
				got = append(got, c.Clients)
			}
		}
		if !slices.Equal(got, e.Clients) || len(e.Paper) == 0 {
			t.Errorf("%s: %d clients, want %d", e.Name, got, e.Clients)
		}
	}
	for _, k := range []string{"search/1e-5/host/shm/8/paper", "search/power/1g/tcp/1/tcp", "search/1e-2/1g/ofi/8/fast"} {
		if !keys[k] {
			t.Errorf("no %s", k)
		}
	}
	for _, c := range cells {
		cfg, err := c.config(settings())
		if err != nil || (cfg.Listen != "") != (c.Network.Rate > 0) || cfg.Requests != 10 || !cfg.Detail {
			t.Errorf("%s: %+v, %v", c, cfg, err)
		}
	}
}

// point is a plausible point of a run.
func point(experiment, panel, series string, clients int, ops float64) Point {
	transport := "shm"
	if series == "tcp" {
		transport = "tcp"
	}
	s := settings()
	p := Point{
		Experiment: experiment, Panel: panel, Network: Host, Series: series, Settings: s,
		Measured: time.Unix(1_700_000_000, 0).UTC(),
		Row: bench.Row{
			Scheme: series, Transport: transport, Clients: clients,
			Figures: bench.Figures{
				OpsPerS: ops, MeanUs: 1e6 * float64(clients) / ops, P50Us: 1, P99Us: 2,
				CPUUtil: 0.5, Trips: 1, Bytes: 100,
			},
			ByOp: map[string]bench.OpFigures{},
			Detail: &bench.Detail{
				CDF: [][2]float64{{1, 0}, {2, 1}}, Calls: []int64{int64(clients * s.Requests)},
				Moments: []bench.Moment{{At: 1, Fast: 3, Offloaded: 1, Util: 0.5}},
			},
		},
	}
	if strings.HasPrefix(series, "offload") {
		p.Row.Offload, p.Row.CPUUtil, p.Row.Reads, p.Row.Trips = 1, 0.01, 4, 3
		switch series {
		case "offload-single":
			p.Row.Trips = 4
		case "offload-cached":
			p.Row.Trips, p.Row.Bytes, p.Row.Cached = 1, 50, 3
		}
	}
	if experiment == "hybrid" {
		p.Row.ByOp["insert"] = bench.OpFigures{Count: 1}
	}
	p.Key = fmt.Sprintf("%s/%s/host/%s/%d/%s", experiment, panel, transport, clients, series)
	return p
}

func points(list ...Point) map[string]Point {
	m := map[string]Point{}
	for _, p := range list {
		m[p.Key] = p
	}
	return m
}

func TestFind(t *testing.T) {
	list := []Point{
		point("search", "1e-5", "paper", 1, 100e3), point("search", "1e-5", "fast-polling", 1, 50e3),
		point("search", "1e-5", "paper", 8, 200e3), point("search", "1e-5", "fast-polling", 8, 50e3),
		point("search", "1e-2", "paper", 8, 90e3), point("search", "1e-2", "fast-polling", 8, 10e3),
		point("search", "1e-2", "paper", 512, 1), point("search", "1e-2", "tcp", 8, 9e3),
		point("multi-issue", "1e-2", "offload", 1, 100e3), point("multi-issue", "1e-2", "offload-single", 1, 80e3),
		point("multi-issue", "1e-2", "offload", 8, 100e3), point("multi-issue", "1e-2", "offload-single", 8, 60e3),
		point("events", "1e-5", "fast-polling", 2, 10e3), point("events", "1e-5", "fast-polling", 8, 4e3),
	}
	views := columns(list)
	if len(views) != 1 || views[0].String() != "host over shm" {
		t.Fatalf("views %v", views)
	}
	for _, c := range []struct {
		n    Number
		want Ours
	}{
		// The paper's 256 clients: our largest number up to it.
		{Number{Experiment: "search", Panel: "1e-5", Series: "paper", X: 256, Metric: KopsS}, Ours{200, "", 8}},
		{Number{Experiment: "search", Panel: "1e-2", Series: "paper", X: 256, Metric: KopsS}, Ours{90, "", 8}},
		{Number{Experiment: "search", Panel: "1e-5", Series: "fast-polling", X: 256, Metric: MeanUs}, Ours{160, "", 8}},
		{Number{Experiment: "search", Series: "paper", Against: "fast-polling", Metric: Times}, Ours{9, "1e-2", 8}},
		{Number{Experiment: "search", Series: "paper", Against: "tcp", Metric: Times}, Ours{10, "1e-2", 8}},
		{Number{Experiment: "search", Series: "paper", Against: "tcp", Metric: Faster}, Ours{10, "1e-2", 8}},
		{Number{Experiment: "multi-issue", Panel: "1e-2", Series: "offload", Against: "offload-single", X: 1, Metric: Saves},
			Ours{20, "", 1}},
		{Number{Experiment: "events", Panel: "1e-5", Series: "fast-polling", X: 320, Metric: Grows}, Ours{10, "", 8}},
	} {
		got, ok := c.n.Find(views[0])
		if !ok || math.Abs(got.Value-c.want.Value) > 1e-9 || got.Panel != c.want.Panel || got.X != c.want.X {
			t.Errorf("%s: %+v, %v; want %+v", c.n.What(), got, ok, c.want)
		}
		if got, ok := c.n.Find(&column{}); ok {
			t.Errorf("%s: found %+v in nothing", c.n.What(), got)
		}
	}
}

// Figure 2: the server's CPU while the network was full, and vice versa. tcp
// alone is a view of its own.
func TestFindUtilisation(t *testing.T) {
	var list []Point
	for i, u := range []struct{ cpu, net float64 }{{0.2, 0.5}, {0.25, 0.95}, {0.95, 0.6}} {
		p := point("motivation", "1e-2", "tcp", 1<<i, 1000)
		p.Network = Network{"1g", 1e9}
		p.Row.CPUUtil, p.Row.NetOut = u.cpu, u.net*1e9/8
		list = append(list, p)
	}
	views := columns(list)
	if len(views) != 1 || views[0].String() != "1g over tcp" {
		t.Fatalf("views %v", views)
	}
	for metric, want := range map[Metric]Ours{CPUAtFull: {25, "", 2}, NetAtBusy: {60, "", 4}} {
		n := Number{Experiment: "motivation", Panel: "1e-2", Series: "tcp", Metric: metric}
		if got, ok := n.Find(views[0]); !ok || math.Abs(got.Value-want.Value) > 1e-9 || got.X != want.X {
			t.Errorf("%s: %+v, %v, want %+v", metric, got, ok, want)
		}
	}
}

func TestReadSimulated(t *testing.T) {
	const row = `{"figure":"10","series":"1e-5/paper","x":256,"metric":"kops_per_s","value":1200}`
	n := Numbers[slices.IndexFunc(Numbers, func(n Number) bool { return n.Figure == "10" })]
	for _, text := range []string{row, "[" + row + "]", row + "\n" + row} {
		rows, err := ReadSimulated(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := n.simulated(rows); !ok || v.Value != 1200 {
			t.Errorf("%s: %v, %v", text, v, ok)
		}
	}
	for text, says := range map[string]string{
		"{": "", "[{]": "", `{"figure":"3","metric":"times"}`: `"3"`, `{"figure":"10","metric":"speed"}`: `"speed"`,
		`[{"figure":"10","metric":"times","of":"a"},{"figure":"10","metric":"times","of":"b"}]`: `"b"`,
	} {
		if _, err := ReadSimulated(strings.NewReader(text)); !errors.Is(err, ErrSimulated) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestLimitOf(t *testing.T) {
	for _, c := range []struct {
		server, client, out float64
		rate                int64
		want                string
	}{
		{0.95, 0.99, 0, 0, "server CPU"}, {0.5, 0.95, 0, 0, "client CPU"}, {0.5, 0.5, 0, 0, "round trips"},
		{0.55, 0.5, 120e6, 1e9, "network"}, {0.99, 0.5, 120e6, 1e9, "network"},
		{0.95, 0.5, 50e6, 1e9, "server CPU"},
	} {
		p := point("motivation", "1e-2", "tcp", 8, 1000)
		p.Network.Rate = c.rate
		p.Settings.ServerCPUs, p.Settings.ClientCPUs = "0", "1"
		p.Row.CPUUtil, p.Row.ClientUtil, p.Row.NetOut = c.server, c.client, c.out
		l := LimitOf(p)
		if l.Name != c.want || (l.Network >= 0) != (c.rate > 0) {
			t.Errorf("%+v: %s", c, l)
		}
	}
	p := point("motivation", "1e-2", "tcp", 8, 1000)
	p.Row.CPUUtil, p.Row.ClientUtil = 0.5, 0.45
	for cpus, want := range map[[2]string]string{
		{"0", "1"}: "round trips", {"0", "0-1"}: "cores that both sides share", {"", ""}: "cores that both sides share",
	} {
		p.Settings.ServerCPUs, p.Settings.ClientCPUs = cpus[0], cpus[1]
		if l := LimitOf(p); l.Name != want {
			t.Errorf("server on %q, clients on %q: %s", cpus[0], cpus[1], l)
		}
	}
}

func TestPace(t *testing.T) {
	var p pace
	if d := p.point(1, 100, 0); d != 0 {
		t.Errorf("before anything was done: %v", d)
	}
	// Two runs of 1000 calls at 100 a second, and 3 s of other work.
	p.add(Point{Row: bench.Row{Runs: []float64{100, 100}, Detail: &bench.Detail{Calls: []int64{1000, 1000}}}}, 23*time.Second)
	for _, c := range []struct {
		runs, calls int
		most, want  time.Duration
	}{
		{1, 1000, 0, 13 * time.Second}, {2, 500, 0, 13 * time.Second},
		{1, 1000, 4 * time.Second, 7 * time.Second}, {1, 100, 4 * time.Second, 4 * time.Second},
	} {
		if got := p.point(c.runs, c.calls, c.most); got != c.want {
			t.Errorf("%+v: foretold %v", c, got)
		}
	}
	p.add(Point{Row: bench.Row{Runs: []float64{50}, Detail: &bench.Detail{Calls: []int64{2000}}}}, 45*time.Second)
	// 15 ms a call, and 4 s of other work.
	if got := p.point(1, 100, 0); got != 5500*time.Millisecond {
		t.Errorf("foretold %v", got)
	}
}

// The queries of figure 14 are written once, and read back unchanged.
func TestWriteQueries(t *testing.T) {
	dir, s := t.TempDir(), settings()
	s.Objects = 20_000
	path, err := WriteQueries(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	src, err := datasets.Open(path, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	items, err := datasets.Collect(src)
	if err != nil || len(items) < 100 {
		t.Errorf("%d queries, %v", len(items), err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := WriteQueries(dir, s)
	after, statErr := os.Stat(path)
	if err != nil || statErr != nil || again != path || !os.SameFile(before, after) {
		t.Errorf("made again: %s, %v, %v", again, err, statErr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The document has each series of each experiment, the paper's numbers with
// ours, and names missing ones.
func TestDocument(t *testing.T) {
	var list []Point
	for _, e := range Experiments {
		for _, p := range e.Panels {
			for _, s := range e.Series {
				list = append(list, point(e.Name, p.Name, s.Name, 1, 1000), point(e.Name, p.Name, s.Name, 2, 2000),
					point(e.Name, p.Name, s.Name, 8, 4000))
			}
		}
	}
	d := Report{
		Settings: settings(), Command: "catfish bench paper --x", Experiments: Experiments,
		Points: points(list...), Skipped: []string{"NOT MEASURED: network of 1 Gbit/s"},
		Simulated: []Simulated{
			{Figure: "10", Series: "1e-5/paper", X: 256, Metric: KopsS, Value: 1234, Fitted: true},
			{Figure: "10", Series: "fast-worst", Metric: Holds, Why: "it was seen"},
		},
	}.Document()
	// settings pin nothing: a second warning says so.
	if len(d.Warnings) != 2 || !strings.Contains(d.Warnings[1], "SHARED CORES") || len(d.Sections) != 2+len(Experiments) {
		t.Fatalf("%d warnings, %d sections", len(d.Warnings), len(d.Sections))
	}
	numbers := d.Sections[1].Tables[0]
	if len(numbers.Rows) != len(Numbers) || len(d.Sections[1].Tables) != 3 {
		t.Errorf("%d numbers, want %d", len(numbers.Rows), len(Numbers))
	}
	text := fmt.Sprint(numbers.Rows)
	if claims := fmt.Sprint(d.Sections[1].Tables[2].Rows); !strings.Contains(claims, "does not hold: it was seen") {
		t.Errorf("the claims are %s", claims)
	}
	for _, s := range []string{"1234", "1239.35", "27.25", "4 (8 clients)"} {
		if !strings.Contains(text, s) {
			t.Errorf("the numbers lack %s", s)
		}
	}
	for _, table := range d.Sections[1].Tables {
		for _, r := range table.Rows {
			// Values about a network or a full server are missing here.
			if len(r) != len(table.Head) || slices.Contains(r, notMeasured) && r[0] != "2" &&
				!strings.Contains(r[1], "CPU is full") && !strings.Contains(r[1], "both Ethernets") {
				t.Errorf("row %q", r)
			}
		}
	}
	names := map[string]bool{}
	for i, e := range Experiments {
		s := d.Sections[2+i]
		if len(s.Parts) != len(e.Panels) {
			t.Errorf("%s: %d parts, want %d", s.Heading, len(s.Parts), len(e.Panels))
		}
		for _, part := range s.Parts {
			for _, p := range part.Plots {
				if names[p.Name] {
					t.Errorf("two plots %s", p.Name)
				}
				names[p.Name] = true
				ours := slices.DeleteFunc(slices.Clone(p.Lines), func(l report.Line) bool { return l.Paper })
				if strings.HasSuffix(p.Name, "-throughput") && len(ours) != len(e.Series) {
					t.Errorf("%s has %d lines, want %d", p.Name, len(ours), len(e.Series))
				}
			}
			tables := 1
			if len(e.Series) > 1 {
				tables++ // The table of ratios.
			}
			if len(part.Tables) != tables {
				t.Errorf("%s: %d tables, want %d", part.Heading, len(part.Tables), tables)
			}
		}
	}
	none := Report{Settings: settings(), Experiments: Experiments[:1]}.Document()
	if !strings.Contains(fmt.Sprint(none.Sections), "not measured") ||
		!strings.Contains(fmt.Sprint(none.Sections[2].Text), "No point") {
		t.Errorf("without points: %+v", none.Sections)
	}
}

func TestRatios(t *testing.T) {
	r := Report{Points: points(
		point("search", "1e-5", "tcp", 8, 1000), point("search", "1e-5", "fast", 8, 5000),
		point("search", "1e-5", "offload", 8, 8000), point("search", "1e-5", "paper", 8, 6000),
		point("search", "1e-5", "fast", 1, 10),
	)}
	e := Experiments[slices.IndexFunc(Experiments, func(e Experiment) bool { return e.Name == "search" })]
	groups := r.groups(&e)
	if len(groups) != 1 {
		t.Fatalf("%d groups", len(groups))
	}
	rows := groups[0].ratios().Rows
	if want := []string{"8", "offloading, multi-issue", "0.75", "5.00", "6.00"}; len(rows) != 1 || !slices.Equal(rows[0], want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
}

// Each broken result has its failure, and good ones pass.
func TestCheck(t *testing.T) {
	good := func() map[string]Point {
		return points(
			point("search", "1e-5", "tcp", 8, 1000), point("search", "1e-5", "fast", 8, 5000),
			point("search", "1e-5", "offload", 8, 4000), point("search", "1e-5", "paper", 8, 5000),
			point("multi-issue", "1e-2", "offload", 8, 4000), point("multi-issue", "1e-2", "offload-single", 8, 4000),
			point("hybrid", "1e-5", "fast", 8, 4000), point("search", "1e-5", "offload-cached", 8, 4000),
			point("hybrid", "1e-5", "offload", 8, 4000), point("hybrid", "1e-5", "offload-cached", 8, 4000),
		)
	}
	if n, failed := Check(good()); n < 20 || len(failed) > 0 {
		t.Errorf("%d tests, failed %q", n, failed)
	}
	const at = "search/1e-5/host/shm/8/"
	for says, c := range map[string]struct {
		key    string
		change func(*Point)
	}{
		"79 calls, want 80":        {at + "fast", func(p *Point) { p.Row.Detail.Calls[0]-- }},
		"2 runs, want 1":           {at + "fast", func(p *Point) { p.Row.Detail.Calls = []int64{80, 80} }},
		"no detail":                {at + "fast", func(p *Point) { p.Row.Detail = nil }},
		"555.56 us of its cores a": {at + "fast", func(p *Point) { p.Row.OpsPerS = 900 }},
		"offloads 10.0 %, though":  {at + "paper", func(p *Point) { p.Row.Offload = 0.1 }},
		"offload: offloads 90.0 %": {at + "offload", func(p *Point) { p.Row.Offload = 0.9 }},
		"costs the server":         {at + "offload", func(p *Point) { p.Row.CPUUtil = 0.4 }},
		"need 1.60 round trips":    {at + "offload-cached", func(p *Point) { p.Row.Trips = 1.6 }},
		"move 90000 bytes":         {at + "offload-cached", func(p *Point) { p.Row.Bytes = 90000 }},
		"no cached node":           {at + "offload-cached", func(p *Point) { p.Row.Cached = 0 }},
		"0.050 restarts":           {at + "offload-cached", func(p *Point) { p.Row.Restarts = 0.05 }},
		"0.200 repairs":            {at + "offload-cached", func(p *Point) { p.Row.Repairs = 0.2 }},
		"0.500 repairs":            {"hybrid/1e-5/host/shm/8/offload-cached", func(p *Point) { p.Row.Repairs = 0.5 }},
		"offload-cached: offloads": {at + "offload-cached", func(p *Point) { p.Row.Offload = 0.8 }},
		"fast: offloads 1.0 %":     {at + "fast", func(p *Point) { p.Row.Offload = 0.01 }},
		"multi-issue needs 5.00":   {"multi-issue/1e-2/host/shm/8/offload", func(p *Point) { p.Row.Trips = 5 }},
		"multi-issue reads 9.00":   {"multi-issue/1e-2/host/shm/8/offload", func(p *Point) { p.Row.Reads = 9 }},
		"nothing was inserted":     {"hybrid/1e-5/host/shm/8/fast", func(p *Point) { p.Row.ByOp = nil }},
	} {
		m := good()
		p, ok := m[c.key]
		if !ok {
			t.Fatalf("no %s in %q", c.key, slices.Sorted(maps.Keys(m)))
		}
		c.change(&p)
		m[c.key] = p
		if _, failed := Check(m); len(failed) == 0 || !strings.Contains(strings.Join(failed, "\n"), says) {
			t.Errorf("failed %q, want %q", failed, says)
		}
	}
	// Exactly the calls that were cut may be missing.
	m := good()
	short := m[at+"fast"]
	short.Settings.Duration = time.Second
	short.Row.Detail.Calls, short.Row.Cut = []int64{60}, 20
	m[at+"fast"] = short
	if _, failed := Check(m); len(failed) > 0 {
		t.Errorf("cut: failed %q", failed)
	}
	short.Row.Cut = 19
	m[at+"fast"] = short
	if _, failed := Check(m); len(failed) != 1 || !strings.Contains(failed[0], "60 calls and 19 cut, want 80") {
		t.Errorf("cut: failed %q", failed)
	}
	// A client with a heartbeat of a busy server may offload.
	m = good()
	p := m[at+"paper"]
	p.Row.Offload, p.Row.Detail.PeakUtil = 0.1, 0.96
	m[at+"paper"] = p
	if _, failed := Check(m); len(failed) > 0 {
		t.Errorf("failed %q", failed)
	}
}
