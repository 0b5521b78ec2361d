package store

import (
	"math"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/rstar"
)

// extent is the box around all of a tree, west, south, east, north; false if that is
// empty. A border is found by bisection: the least x of which there is something up
// to x. That is 64 searches for one object, for each border. What is written
// meanwhile may be missed.
//
// Longitudes are a circle, and the narrowest box leaves out its widest gap. That is
// the one over 180 degrees, or one between two objects, and then the box crosses 180
// degrees (RFC 7946, section 5.2):
//
//	-180 |....###.#........................##..####..| 180    gaps: .
//	               '--- the widest ------'
func extent(t *rstar.Tree, s feature.Space) (e [4]float64, ok bool) {
	all := anywhere
	if s == feature.Geographic { // What is nowhere is not in it.
		all = rstar.Rect{MinX: -180, MinY: -90, MaxX: 180, MaxY: 90}
	}
	r, ok := boundsIn(t, all)
	if !ok {
		return e, false
	}
	e = [4]float64{r.MinX, r.MinY, r.MaxX, r.MaxY}
	if over := r.MinX + 360 - r.MaxX; s == feature.Geographic && over < 180 {
		if from, to := gap(t, r); to-from > over {
			e[0], e[2] = to, from
		}
	}
	return e, true
}

// gap is the widest gap of longitudes between objects, to within two degrees; nothing
// where there is none of two degrees. Its borders are exact.
func gap(t *rstar.Tree, all rstar.Rect) (from, to float64) {
	begin, length, run := 0, 0, 0
	for d := -180; d < 180; d++ { // columns of one degree
		q := all
		if q.MinX, q.MaxX = float64(d), float64(d+1); holdsAny(t, q) {
			run = 0
			continue
		}
		if run++; run > length {
			begin, length = d+1-run, run
		}
	}
	if length == 0 {
		return 0, 0
	}
	// Nothing is in the columns, so something begins east of them, and ends west.
	east, west := all, all
	east.MinX, west.MaxX = float64(begin+length), float64(begin)
	if !holdsAny(t, east) || !holdsAny(t, west) {
		return 0, 0 // It is the gap over 180 degrees.
	}
	to = least(func(x float64) bool { q := east; q.MaxX = x; return x >= q.MinX && holdsAny(t, q) })
	from = -least(func(x float64) bool { q := west; q.MinX = -x; return -x <= q.MaxX && holdsAny(t, q) })
	return from, to
}

// Bounds is the box around all of a tree, false if that is empty. It takes some
// hundred searches, each for one object.
func Bounds(t *rstar.Tree) (rstar.Rect, bool) { return boundsIn(t, anywhere) }

var anywhere = rstar.Rect{MinX: -math.MaxFloat64, MinY: -math.MaxFloat64, MaxX: math.MaxFloat64, MaxY: math.MaxFloat64}

// boundsIn is Bounds of what lies in a box.
func boundsIn(t *rstar.Tree, all rstar.Rect) (rstar.Rect, bool) {
	if !holdsAny(t, all) {
		return rstar.Rect{}, false
	}
	return rstar.Rect{
		MinX: least(func(x float64) bool { q := all; q.MaxX = x; return x >= q.MinX && holdsAny(t, q) }),
		MinY: least(func(y float64) bool { q := all; q.MaxY = y; return y >= q.MinY && holdsAny(t, q) }),
		MaxX: -least(func(x float64) bool { q := all; q.MinX = -x; return -x <= q.MaxX && holdsAny(t, q) }),
		MaxY: -least(func(y float64) bool { q := all; q.MinY = -y; return -y <= q.MaxY && holdsAny(t, q) }),
	}, true
}

// holdsAny reports whether something intersects q.
func holdsAny(t *rstar.Tree, q rstar.Rect) bool {
	found, rest := t.SearchSome(nil, q, 1, stepNodes)
	if rest == nil {
		return len(found) > 0
	}
	defer rest.Close()
	for !rest.Step(stepNodes) {
	}
	return rest.Count() > 0
}

// least is the least number from which on ok holds.
func least(ok func(float64) bool) float64 {
	low, high := order(-math.MaxFloat64), order(math.MaxFloat64)
	for low < high {
		mid := low + (high-low)/2
		if ok(fromOrder(mid)) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return fromOrder(low)
}

// order maps numbers to consecutive integers in the same order.
func order(f float64) uint64 {
	b := math.Float64bits(f)
	if b>>63 == 0 {
		return b | 1<<63
	}
	return ^b
}

func fromOrder(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	return math.Float64frombits(^n)
}
