package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func sample() Plot {
	return Plot{
		Name: "latency", Title: "Latency <of> A & B", X: "clients", Y: "us", LogX: true, LogY: true,
		Ticks: []float64{1, 2, 64},
		Lines: []Line{
			{Name: "fast", Points: [][2]float64{{1, 10}, {2, 20}, {64, 900}}},
			{Name: "offload <&>", Series: "offload", Points: [][2]float64{{1, 5}, {2, 0}, {64, math.NaN()}}},
			{Name: "nothing", Series: "tcp"},
		},
	}
}

// wellFormed fails unless the text is one XML document.
func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b)
		}
	}
}

func TestPlot(t *testing.T) {
	p := sample()
	svg, err := p.SVG()
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, svg)
	for _, s := range []string{"clients", "us", ">64<", "fast", "offload &lt;&amp;&gt;",
		"stroke-dasharray", "Liberation Sans,Arial"} {
		if !bytes.Contains(svg, []byte(s)) {
			t.Errorf("the SVG lacks %q", s)
		}
	}
	if bytes.Contains(svg, []byte("nothing")) {
		t.Error("a line without points is in the legend")
	}
	b, err := p.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if w := img.Bounds().Dx(); w < 1000 {
		t.Errorf("the PNG is %d pixels wide: coarse in print", w)
	}
}

// No result of a run makes a plot panic: gonum does so for logarithms of what
// is not above 0.
func TestPlotsOfFewPoints(t *testing.T) {
	for _, points := range [][][2]float64{
		{{1, 1}}, {{1, 0}}, {{0, 0}}, {{0, 5}}, {{-1, -1}}, {{1, 0}, {2, 0}}, {{3, 7}, {4, 7}},
		{{math.Inf(1), 1}}, {{1, math.NaN()}}, {},
	} {
		for _, log := range []bool{false, true} {
			p := Plot{Name: "p", LogX: log, LogY: log, FromZero: !log, Lines: []Line{{Name: "l", Points: points}}}
			_, err := p.SVG()
			want := len(p.drawable(p.Lines[0])) > 0
			if (err == nil) != want || err != nil && !errors.Is(err, ErrNoPoints) {
				t.Errorf("points %v, log %v: %v", points, log, err)
			}
		}
	}
}

func TestMarks(t *testing.T) {
	xy := make(plotter.XYs, 500)
	for i := range 20 {
		if n := len(marked(xy, i)); n == 0 || n > maxMarks {
			t.Errorf("line %d has %d marks", i, n)
		}
	}
	if n := len(marked(xy[:3], 5)); n != 3 {
		t.Errorf("%d of 3 points are marked", n)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.5: "0.5", 1e-5: "0.00001", 2.5e-11: "2.5e-11", 1.0 / 3: "0.3333", 64: "64", 999: "999", 1239.35: "1239", 9999: "9999", 15000: "15k", 1.25e6: "1.25M", -2e9: "-2G",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}

// Ticks never miss a power of ten at an end of the axis, and never lie
// outside of it, though logarithms are inexact.
func TestLogTicks(t *testing.T) {
	for e := -12; e <= 12; e++ {
		var a plot.Axis
		a.Min, a.Max = math.Pow10(e), math.Pow10(e)
		if decades(&a); a.Min != a.Max {
			t.Errorf("1e%d is widened to %v to %v", e, a.Min, a.Max)
		}
		a.Min, a.Max = 1.1*math.Pow10(e), 9*math.Pow10(e+1)
		decades(&a)
		var labels []float64
		for _, tick := range (logTicks{}).Ticks(a.Min, a.Max) {
			if tick.Value < a.Min || tick.Value > a.Max {
				t.Errorf("a tick at %v of an axis from %v to %v", tick.Value, a.Min, a.Max)
			}
			if tick.Label != "" {
				labels = append(labels, tick.Value)
			}
		}
		if want := []float64{math.Pow10(e), math.Pow10(e + 1), math.Pow10(e + 2)}; !slices.Equal(labels, want) {
			t.Errorf("labels %v, want %v", labels, want)
		}
	}
}

// Labels do not overlap, and the last value has one.
func TestTicks(t *testing.T) {
	a := plot.Axis{Min: 1, Max: 320, Scale: plot.LogScale{}}
	var got []string
	for _, tick := range ticks([]float64{320, 1, 2, 4, 8, 80, 80, 256}, &a) {
		got = append(got, tick.Label)
	}
	if want := []string{"1", "2", "4", "8", "80", "", "320"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
}

// Legends take the columns that fit; a line and the paper's values stay
// neighbours, and a long name costs columns, not its end.
func TestLegend(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
	}{
		{nil, 0}, {[]string{"a"}, 1}, {[]string{"a", "b", "c"}, 3},
		{[]string{strings.Repeat("long ", 10), strings.Repeat("long ", 10)}, 1},
	} {
		var l legend
		for _, n := range c.names {
			l.add(n)
		}
		columns, widths := l.columns()
		if len(columns) != c.want || len(widths) != c.want {
			t.Errorf("%q: %d columns, want %d", c.names, len(columns), c.want)
		}
	}
}

func document() *Document {
	empty, simulated := sample(), sample()
	empty.Name, empty.Title, empty.Lines = "empty", "Nothing", nil
	simulated.Name, simulated.Simulated = "future", true
	left, right, none, lone := sample(), sample(), empty, empty
	left.Name, right.Name, none.Name, lone.Name = "left", "right", "none", "lone"
	return &Document{
		Title: "A <report>", Warnings: []string{"NOT MEASURED: x < y"},
		Facts: []Fact{{"machine", "two | cores"}},
		Sections: []Section{{
			Heading: "Figure 10", Text: []string{"Assumed: a < b."},
			Plots: []Plot{sample(), empty, simulated},
			Parts: []Section{{
				Heading: "Scale 1 %, [x]: <y>", Rows: [][]Plot{{left, none, right}, {lone}},
			}},
			Tables: []Table{{
				Caption: "Rows", Head: []string{"series", "calls/s"},
				Rows: [][]string{{"fast|tcp", "1"}, {"<b>", "2"}},
			}},
		}},
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 { // The second one replaces the first.
		if err := Write(dir, document()); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"future-simulated.png", "future-simulated.svg", "latency.png", "latency.svg",
		"left.png", "left.svg", HTMLFile, MarkdownFile, "right.png", "right.svg"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	md := read(t, dir, MarkdownFile)
	for _, s := range []string{"# A <report>", "> **NOT MEASURED: x < y**", `two \| cores`,
		"![Latency <of> A & B](latency.png)", `| fast\|tcp | 1 |`, `No plot "Nothing"`,
		"Latency <of> A & B (simulated)", "(future-simulated.svg)"} {
		if !strings.Contains(md, s) {
			t.Errorf("%s lacks %q:\n%s", MarkdownFile, s, md)
		}
	}
	page := read(t, dir, HTMLFile)
	for _, s := range []string{"A &lt;report&gt;", "NOT MEASURED: x &lt; y", "&lt;b&gt;", "</svg>",
		"(simulated)", "fast|tcp"} {
		if !strings.Contains(page, s) {
			t.Errorf("%s lacks %q", HTMLFile, s)
		}
	}
	// Self-contained: nothing is fetched, and no prolog stands inside.
	for _, s := range []string{"src=", "<link", "@import", "<?xml", "<script"} {
		if strings.Contains(page, s) {
			t.Errorf("%s has %q", HTMLFile, s)
		}
	}
	if n := strings.Count(page, "<svg "); n != 4 {
		t.Errorf("%s has %d plots, want 4", HTMLFile, n)
	}
	// Plots of a row stand side by side; one without points is left out, as is
	// a row of only such plots.
	if !strings.Contains(md, "| ![Latency <of> A & B](left.png) | ![Latency <of> A & B](right.png) |\n|---|---|\n") {
		t.Errorf("%s has no row of plots:\n%s", MarkdownFile, md)
	}
	if n := strings.Count(page, `class="row"`); n != 1 || !strings.Contains(page, `style="--across: 2"`) {
		t.Errorf("%s has %d rows of plots", HTMLFile, n)
	}
}

// Contents link every heading, of parts as well, and two equal ones; a page of
// two sections needs no contents.
func TestContents(t *testing.T) {
	d := document()
	d.Sections = append(d.Sections, Section{Heading: "Figure 10"}, Section{Heading: "The paper's"})
	dir := t.TempDir()
	if err := Write(dir, d); err != nil {
		t.Fatal(err)
	}
	md, page := read(t, dir, MarkdownFile), read(t, dir, HTMLFile)
	if want := "- [Figure 10](#figure-10)\n  - [Scale 1 %, (x): <y>](#scale-1--x-y)\n" +
		"- [Figure 10](#figure-10-1)\n- [The paper's](#the-papers)\n"; !strings.Contains(md, want) {
		t.Errorf("contents of %s are not\n%s in\n%s", MarkdownFile, want, md)
	}
	if !strings.Contains(md, "\n### Scale 1 %, [x]: <y>\n") {
		t.Errorf("%s has no heading of a part", MarkdownFile)
	}
	for _, s := range []string{
		`<li class="l3"><a href="#scale-1--x-y">Scale 1 %, [x]: &lt;y&gt;</a></li>`, `<h3 id="scale-1--x-y">`,
		`<a href="#figure-10-1">`, `<h2 id="figure-10-1">`,
	} {
		if !strings.Contains(page, s) {
			t.Errorf("%s lacks %q", HTMLFile, s)
		}
	}
	d.Sections = d.Sections[1:2]
	if err := Write(dir, d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, dir, HTMLFile), "<nav") || strings.Contains(read(t, dir, MarkdownFile), "](#") {
		t.Error("contents of one section")
	}
}

func TestWriteFails(t *testing.T) {
	d := document()
	d.Sections = append(d.Sections, Section{Plots: []Plot{sample()}})
	if err := Write(t.TempDir(), d); err == nil || !strings.Contains(err.Error(), "latency") {
		t.Errorf("two plots of one name: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(file, "sub"), document()); err == nil {
		t.Error("written into a file")
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
