package cel

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

func TestFoldCase(t *testing.T) {
	in := filter.Input{Properties: []byte(`{"s":"Große STRASSE","g":"ΟΔΌΣ","n":5,"z":null,"l":["A","b"]}`)}
	for expr, want := range map[string]bool{
		`properties.s.foldCase() == "grosse strasse"`:              true,
		`properties.s.foldCase() == "GROSSE straße".foldCase()`:    true,
		`properties.s.foldCase() == "Große STRASSE"`:               false,
		`properties.s.foldCase().contains("strasse")`:              true,
		`properties.s.foldCase().matches("^gr.*se$")`:              true,
		`properties.g.foldCase() == "οδός".foldCase()`:             true, // two forms of one letter
		`properties.l.exists(x, x.foldCase() == "a")`:              true,
		`properties.n.foldCase() == "5"`:                           false, // unknown
		`!(properties.n.foldCase() == "5")`:                        false,
		`!(properties.z.foldCase() == "")`:                         false,
		`!(properties.missing.foldCase() == "")`:                   false,
		`properties.s.foldCase().foldCase().foldCase().size() > 0`: true,
	} {
		if got, err := match(t, mustCompile(t, expr), in); got != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", expr, got, err, want)
		}
	}
	if _, err := Compile(`foldCase("a") == "a"`, Options{}); !errors.Is(err, filter.ErrFilter) {
		t.Errorf("as a function of the environment: %v", err)
	}
	// It is charged by length: a loop over a long string ends.
	p := mustCompile(t, `properties.list.all(x, properties.s.foldCase() != "")`)
	long := `{"s":"` + strings.Repeat("x", 5000) + `","list":[1` + strings.Repeat(",1", 199) + `]}`
	if got, err := p.Match(filter.Input{Properties: []byte(long)}); got || !errors.Is(err, filter.ErrCost) {
		t.Errorf("got %v, %v, want ErrCost", got, err)
	}
}

func BenchmarkFoldCase(b *testing.B) {
	p, err := Compile(`properties.s.foldCase() == "x"`, Options{})
	if err != nil {
		b.Fatal(err)
	}
	in := filter.Input{Properties: []byte(`{"s":"` + strings.Repeat("Straße ", 100) + `"}`)}
	for b.Loop() {
		if _, err := p.Match(in); err != nil {
			b.Fatal(err)
		}
	}
}
