package feature

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/paulmach/orb"
)

// viewOf returns the View of a normalised geometry.
func viewOf(t testing.TB, s Space, g orb.Geometry) View {
	t.Helper()
	g, err := Normalise(g, Options{Space: s, Lenient: true})
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, g, nil)
}

// stored returns the View of a geometry that is not normalised.
func stored(t testing.TB, g orb.Geometry, properties []byte) View {
	t.Helper()
	b, err := Append(nil, g, properties)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

type country struct {
	code string
	view View
}

// countries reads a FeatureCollection whose features have a property id.
func countries(t testing.TB, file string) []country {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Features []json.RawMessage }
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var out []country
	for i, raw := range c.Features {
		f, err := Decode(raw, Options{})
		if err != nil {
			t.Fatalf("feature %d: %v", i, err)
		}
		var p struct{ ID string }
		if err := json.Unmarshal(f.Properties, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, country{p.ID, stored(t, f.Geometry, f.Properties)})
	}
	return out
}

func rect(w, s, e, n float64) orb.Polygon {
	return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
}

// star is a ring of n random positions around a centre, which does not cross
// itself.
func star(r interface{ Float64() float64 }, n int, x, y, radius float64) orb.Polygon {
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		d := radius * (0.6 + 0.4*r.Float64())
		ring = append(ring, orb.Point{x + d*math.Cos(a), y + d*math.Sin(a)})
	}
	return orb.Polygon{append(ring, ring[0])}
}
