package hydradb

import (
	"io"
	"testing"

	"github.com/catfish-index/catfish/bench/sim"
)

// The table of figure 10 in docs is what the program makes. Of the paper it has the signs, and
// that pointers gain more the more calls are GETs.
func TestWaysAreFresh(t *testing.T) {
	cl, err := sim.Open(Cluster)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictWays(t.Context(), cl, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gains {
		last := 0.0
		for i := range g.printed {
			is := Gain(rows, mixes[i].name, g.of, g.by)
			if is <= 0 || g.of == "pointers" && is <= last {
				t.Errorf("%s, %s: %+.1f %% after %+.1f %%", g.name, mixes[i].name, is, last)
			}
			last = is
		}
	}
	isFresh(t, "10", func(w io.Writer) error { return WriteWays(w, rows) })
}
