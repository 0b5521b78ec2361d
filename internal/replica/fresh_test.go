package replica

import (
	"testing"
	"time"
)

// A beacon that was long on its way grants the less for it, whatever the two clocks show.
func TestFreshnessCountsTheWay(t *testing.T) {
	const ms = time.Millisecond
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} { // the secondary's clock
		var f Freshness
		until := func(sent, way time.Duration) time.Duration {
			return f.Until(sent, sent+way+ahead, 400*ms) - ahead
		}
		if got, want := until(1000*ms, 2*ms), 1402*ms; got != want {
			t.Errorf("first beacon: until %v, want %v", got, want)
		}
		if got, want := until(1010*ms, 1*ms), 1411*ms; got != want {
			t.Errorf("a faster beacon: until %v, want %v", got, want)
		}
		// The secondary stood still for ten seconds: what waited for it grants nothing.
		if got := until(1020*ms, 10000*ms); got > 1420*ms+1*ms+10*ms || got < 1420*ms {
			t.Errorf("a late beacon: until %v, want about %v", got, 1421*ms)
		}
		// Clocks may differ in their rates.
		for sent := 20000 * ms; sent < time.Hour; sent += 10 * ms {
			came := sent + sent/drift/2 + 1*ms
			if left := f.Until(sent, came+ahead, 400*ms) - ahead - came; left < 390*ms {
				t.Fatalf("at %v with a clock that is slow by %v: fresh for %v only", sent, sent/drift/2, left)
			}
		}
	}
}
