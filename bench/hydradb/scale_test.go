package hydradb

import (
	"io"
	"testing"

	"github.com/catfish-index/catfish/bench/sim"
)

// The table of figure 12 in docs is what the program makes. Of the paper it has that uniform
// keys scale out without a knee, Zipf's do not, and that one machine's shards end at its card.
func TestScaleIsFresh(t *testing.T) {
	cl, err := sim.Open(Cluster)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := PredictScale(t.Context(), cl, Placement{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(mixes) / 2 {
		zipf, uniform := &rows[i], &rows[i+len(mixes)/2]
		if last := len(zipf.Times) - 1; zipf.Knee == 0 || uniform.Knee != 0 || zipf.Times[last] >= uniform.Times[last] {
			t.Errorf("%s: knee %d, %v; %s: knee %d, %v", zipf.Mix, zipf.Knee, zipf.Times, uniform.Mix, uniform.Knee, uniform.Times)
		}
	}
	for _, up := range rows[len(mixes):] {
		if last := len(up.Times) - 1; up.Knee == 0 || up.Knee > 3 || up.Times[last] > up.Times[up.Knee-1] {
			t.Errorf("scale-up, %s: knee %d, %v", up.Mix, up.Knee, up.Times)
		}
	}
	isFresh(t, "12", func(w io.Writer) error { return WriteScale(w, rows) })
}

// A ring divides keys less evenly than slots do.
func TestRing(t *testing.T) {
	uneven := func(p Placement) float64 {
		of, err := p.of(7)
		if err != nil {
			t.Fatal(err)
		}
		var has [7]int
		for i := range 20_000 {
			has[of.Of([]byte{byte(i), byte(i >> 8), 1})]++
		}
		least, most := has[0], 0
		for _, n := range has {
			least, most = min(least, n), max(most, n)
		}
		return float64(most) / float64(least)
	}
	if slots, ring := uneven(Placement{}), uneven(Placement{RingPoints: 16}); ring < slots*1.1 {
		t.Errorf("the fullest shard by the emptiest: %v by slots, %v by a ring of 16 points", slots, ring)
	}
	if _, err := (Placement{RingPoints: 1 << 20}).of(2); err == nil {
		t.Error("a ring of 2^20 points")
	}
}
