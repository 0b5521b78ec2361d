package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"testing"
)

// No two series look alike, spare ones included: neither by colour nor, in
// print without colours, by dashes and mark.
func TestLooksDiffer(t *testing.T) {
	all := append(slices.Clone(looks), spares...)
	for i, a := range all {
		if (a.series == "") != (i >= len(looks)) {
			t.Errorf("look %d is of series %q", i, a.series)
		}
		for _, b := range all[:i] {
			if a.series != "" && a.series == b.series {
				t.Errorf("%q is there twice", a.series)
			}
			if slices.Equal(a.dashes, b.dashes) || slices.Equal(a.mark, b.mark) || apart(a.color, b.color) < 40 {
				t.Errorf("%q %v and %q %v look alike", a.series, a.color, b.series, b.color)
			}
		}
		if bright := 0.3*float64(a.color.R) + 0.59*float64(a.color.G) + 0.11*float64(a.color.B); bright > 180 {
			t.Errorf("%q is too bright for white paper: %v", a.series, a.color)
		}
	}
}

// apart is the distance of two colours, 441 for black and white.
func apart(a, b color.RGBA) float64 {
	d := func(x, y uint8) float64 { return float64(x) - float64(y) }
	return math.Hypot(math.Hypot(d(a.R, b.R), d(a.G, b.G)), d(a.B, b.B))
}

// The look of a series depends on its name alone, and unknown ones get looks
// of their own while spare ones are left.
func TestLooksOfLines(t *testing.T) {
	p := Plot{Name: "p", Lines: []Line{
		{Name: "mine"}, {Name: "Catfish", Series: "paper"}, {Name: "other"}, {Name: "mine", Paper: true}, {Name: "cost"},
	}}
	found, err := p.looks()
	if err != nil {
		t.Fatal(err)
	}
	at := func(series string) look {
		i, known := Rank(series)
		if !known {
			t.Fatalf("no look of %s", series)
		}
		return looks[i]
	}
	want := []look{spares[0], at("paper"), spares[1], spares[0], at("cost")}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("looks\n%v, want\n%v", found, want)
	}
	if i, known := Rank("mine"); known || i != len(looks) {
		t.Errorf("mine is at %d", i)
	}
	for i := range spares {
		p.Lines = append(p.Lines, Line{Name: fmt.Sprint(i), Points: [][2]float64{{1, 1}}})
	}
	if _, err := p.SVG(); !errors.Is(err, ErrLook) {
		t.Errorf("%d unknown series: %v", len(spares)+2, err)
	}
}

// The paper's values are marks without a line, in the series' colour, and
// named as such.
func TestPaperValues(t *testing.T) {
	draw := func(paper bool) []byte {
		p := Plot{Name: "p", Lines: []Line{{
			Name: "Catfish", Series: "cost", Points: [][2]float64{{1, 1}, {2, 3}, {4, 2}}, Paper: paper,
		}}}
		svg, err := p.SVG()
		if err != nil {
			t.Fatal(err)
		}
		return svg
	}
	ours, papers := draw(false), draw(true)
	const colour = "#CC79A7"
	for _, c := range []struct {
		what          string
		svg           []byte
		name, lacking string
	}{
		{"ours", ours, ">Catfish<", "(paper)"},
		{"the paper's", papers, ">Catfish (paper)<", "stroke-dasharray"}, // of the line of cost
	} {
		if !bytes.Contains(c.svg, []byte(c.name)) || bytes.Contains(c.svg, []byte(c.lacking)) ||
			!bytes.Contains(c.svg, []byte(colour)) {
			t.Errorf("%s: want %s and %s, and no %s", c.what, c.name, colour, c.lacking)
		}
	}
	// Three marks and the legend's: filled ours, hollow the paper's.
	filled := []byte("fill:" + colour)
	if n, m := bytes.Count(ours, filled), bytes.Count(papers, filled); n != 4 || m != 0 {
		t.Errorf("%d filled marks of ours, %d of the paper's; want 4 and 0", n, m)
	}
	if n := bytes.Count(papers, []byte("stroke:"+colour)); n != 4 {
		t.Errorf("%d hollow marks, want 4", n)
	}
	// A series without a mark must not vanish.
	p := Plot{Name: "p", Lines: []Line{{Name: "limit", Points: [][2]float64{{1, 1}}, Paper: true}}}
	if svg, err := p.SVG(); err != nil || !bytes.Contains(svg, []byte("#C00000")) {
		t.Errorf("the paper's limit is not drawn: %v", err)
	}
}
