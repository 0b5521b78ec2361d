package feature

import (
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// Unwrapping writes the longitudes of a path so that each step is as long as
// it looks, and no step jumps from one edge of the map to the other: 170,
// -170 becomes 170, 190. Then the path can be cut at 180, 540 and so on as in
// the plane, and each part is moved back by whole turns.

// unwrapped is a position of such a path. lon is its original longitude, NaN
// for positions that were added. A position that is neither moved nor cut keeps
// it, bit by bit: 360 more and 360 less need not be the same number. z is the
// altitude, NaN if there is none.
type unwrapped struct{ x, y, lon, z float64 }

// same reports whether v and w are equal. An added position equals none.
func (v unwrapped) same(w unwrapped) bool { return v.x == w.x && v.y == w.y && v.lon == w.lon }

type unwrappedRing []unwrapped

func (r unwrappedRing) ring() orb.Ring {
	out := make(orb.Ring, len(r))
	for i, p := range r {
		out[i] = orb.Point{p.x, p.y}
	}
	return out
}

// wraps reports whether a path needs unwrapping: it leaves -180..180, or has a
// step of more than 180 degrees other than the one along a parallel.
func wraps(v []orb.Point) bool {
	for i, p := range v {
		if math.Abs(p[0]) > 180 {
			return true
		}
		if i > 0 {
			if d := math.Abs(p[0] - v[i-1][0]); d > 180 && d != 360 {
				return true
			}
		}
	}
	return false
}

// unwrap also returns by how many degrees the end lies east of the beginning.
// literal leaves steps unchanged. z are altitudes, or nil.
func unwrap(v []orb.Point, z []float64, literal bool) (unwrappedRing, float64) {
	out := make(unwrappedRing, len(v))
	turns := 0.0 // degrees to add
	for i, p := range v {
		if i > 0 && !literal {
			d := p[0] - v[i-1][0]
			if math.Abs(d) > 180 && math.Abs(d) != 360 {
				turns -= 360 * math.Round(d/360)
			}
		}
		out[i] = unwrapped{p[0] + turns, p[1], p[0], math.NaN()}
		if z != nil {
			out[i].z = z[i]
		}
	}
	return out, out[len(out)-1].x - out[0].x
}

// maxTurns: no sensible ring is longer; more turns would only cost time.
const maxTurns = 4

// unwrapPolygon unwraps all rings and moves holes to their shell.
func unwrapPolygon(rings orb.Polygon, zs [][]float64, literal bool) ([]unwrappedRing, error) {
	out := make([]unwrappedRing, len(rings))
	for i, r := range rings {
		u, winding := unwrap(r, zs[i], literal)
		if i == 0 && !literal && winding == 0 && signedArea(u.ring()) < 0 &&
			signedArea(r) > 0 {
			literal = true // See Normalise.
			u, winding = unwrap(r, zs[i], true)
		}
		switch math.Abs(winding) {
		case 0:
		case 360:
			u = closeAtPole(u)
		default:
			return nil, fmt.Errorf("%w: ring %d ends %v degrees from where it begins",
				ErrInvalidGeometry, i, winding)
		}
		if lo, hi := u.extent(); lo < -maxTurns*360 || hi > maxTurns*360 {
			return nil, fmt.Errorf("%w: ring %d goes around the globe more than %d times",
				ErrInvalidGeometry, i, maxTurns)
		}
		if i > 0 {
			u.moveInto(out[0])
		}
		out[i] = u
	}
	return out, nil
}

// closeAtPole: a ring that encircles a pole ends a turn away from its
// beginning. Two positions at the pole close it in the plane.
func closeAtPole(r unwrappedRing) unwrappedRing {
	sum := 0.0
	for _, p := range r[1:] {
		sum += p.y
	}
	pole := math.Copysign(90, sum)
	nan := math.NaN()
	first, last := r[0], r[len(r)-1]
	return append(r, unwrapped{last.x, pole, nan, nan}, unwrapped{first.x, pole, nan, nan}, first)
}

func (r unwrappedRing) extent() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, p := range r {
		lo, hi = min(lo, p.x), max(hi, p.x)
	}
	return lo, hi
}

// moveInto moves a hole by whole turns into the extent of its shell, if it
// fits there.
func (r unwrappedRing) moveInto(shell unwrappedRing) {
	lo, hi := shell.extent()
	a, b := r.extent()
	for turn := -2 * maxTurns; turn <= 2*maxTurns; turn++ {
		if d := float64(turn) * 360; a+d >= lo && b+d <= hi {
			for i := range r {
				r[i].x += d
			}
			return
		}
	}
}

// signedArea is positive for a ring that runs counterclockwise.
func signedArea(r orb.Ring) float64 {
	sum := 0.0
	for i := 1; i < len(r); i++ {
		sum += (r[i-1][0] - r[0][0]) * (r[i][1] - r[0][1])
		sum -= (r[i][0] - r[0][0]) * (r[i-1][1] - r[0][1])
	}
	return sum / 2
}
