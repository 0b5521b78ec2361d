package cql2

import (
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
)

// A filter means the same where it is compiled again, though other features have other
// properties there.
func TestSource(t *testing.T) {
	has := Properties{Split: true, Schema: []store.PropertySchema{
		{Name: "a.b", Types: map[string]int{"number": 1}}, {Name: "a", Types: map[string]int{"object": 1}}, {Name: "s", Types: map[string]int{"string": 1}},
	}}
	for _, parse := range []func(string, Properties) (*Filter, error){Parse, ParseJSON} {
		for text, form := range map[string]bool{
			`a.b = 1 AND S_INTERSECTS(geometry, BBOX(0, 0, 1, 1)) AND NOT s LIKE 'x%'`: false, `a.c IS NULL`: false, `CASEI(s) = CASEI('Y') OR a.b > 2`: false,
			`{"op":"=","args":[{"property":"a.b"},1]}`: true,
		} {
			f, err := parse(text, has)
			if err != nil {
				if form != (fmt.Sprintf("%p", parse) == fmt.Sprintf("%p", ParseJSON)) {
					continue // the other form
				}
				t.Fatal(err)
			}
			sources, ok := f.Where.Sources()
			if !ok || len(sources) != 1 {
				t.Fatalf("%s: sources %q", text, sources)
			}
			again, err := Compile(sources[0])
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			for _, p := range []string{`{"a.b":1,"s":"y"}`, `{"a":{"b":1,"c":2},"s":"xy"}`, `{"a":{"b":3}}`, `{"s":"Y"}`, `{}`} {
				in := filter.Input{Properties: []byte(p)}
				want, err := f.Where.Match(in)
				got, e := again.Match(in)
				if err != nil || e != nil || got != want {
					t.Errorf("%s of %s: %v %v, want %v %v", text, p, got, e, want, err)
				}
			}
		}
	}
	if _, err := Compile("{"); err == nil {
		t.Error("half a source is compiled")
	}
}
