package feature

import (
	"errors"
	"math"
	"testing"

	"github.com/paulmach/orb"
)

// TestCheckPosition: it returns the error of Normalise for the point.
func TestCheckPosition(t *testing.T) {
	values := []float64{0, -90, 90, 90.5, -91, 180, 360, 360.5, -361, 1e150, 2e150, math.Inf(1), math.NaN()}
	bad := 0
	for _, s := range []Space{Geographic, Planar} {
		for _, x := range values {
			for _, y := range values {
				p := orb.Point{x, y}
				_, want := Normalise(p, Options{Space: s})
				err := checkPosition(s, p)
				if (err == nil) != (want == nil) || err != nil && (err.Error() != want.Error() || !errors.Is(err, ErrRange)) {
					t.Errorf("%v %v: %v, want %v", s, p, err, want)
				}
				if err != nil {
					bad++
				}
			}
		}
	}
	if bad == 0 {
		t.Error("all are good")
	}
}
