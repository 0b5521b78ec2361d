package api

import (
	"math"

	"github.com/catfish-index/catfish/rstar"
)

// extent is the box around all of a tree, false if that is empty. A border is
// found by bisection: the least x of which there is something up to x. That is 64
// searches for one object, for each border. What is written meanwhile may be
// missed.
func extent(t *rstar.Tree) (rstar.Rect, bool) {
	const most = math.MaxFloat64
	all := rstar.Rect{MinX: -most, MinY: -most, MaxX: most, MaxY: most}
	if !holdsAny(t, all) {
		return rstar.Rect{}, false
	}
	return rstar.Rect{
		MinX: least(func(x float64) bool { q := all; q.MaxX = x; return holdsAny(t, q) }),
		MinY: least(func(y float64) bool { q := all; q.MaxY = y; return holdsAny(t, q) }),
		MaxX: -least(func(x float64) bool { q := all; q.MinX = -x; return holdsAny(t, q) }),
		MaxY: -least(func(y float64) bool { q := all; q.MinY = -y; return holdsAny(t, q) }),
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

// order maps numbers to integers in the same order, one after the other.
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
