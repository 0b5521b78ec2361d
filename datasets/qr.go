package datasets

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/tidwall/rtree"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// QuerySet names one of the four query sets of the rea02 benchmark, or that of the
// Catfish paper.
type QuerySet int

// The query sets by the number of results that each query has.
const (
	QR0      QuerySet = iota // points: every 10th rectangle shrunk to its centre
	QR1                      // 1 result
	QR2                      // 100 results
	QR3                      // 1000 results
	Q50To150                 // 50 to 150 results, as many of each: the Catfish paper's
)

// leastResults and mostResults are the results of Q50To150.
const leastResults, mostResults = 50, 150

// ParseQuerySet accepts "QR0" to "QR3", and "50-150". Its errors wrap ErrOption.
func ParseQuerySet(s string) (QuerySet, error) {
	for q := QR0; q <= Q50To150; q++ {
		if q.String() == s {
			return q, nil
		}
	}
	return 0, fmt.Errorf("datasets: %w: query set %s, want QR0, QR1, QR2, QR3 or 50-150",
		ErrOption, input.Quote(s))
}

func (q QuerySet) String() string {
	if q == Q50To150 {
		return fmt.Sprintf("%d-%d", leastResults, mostResults)
	}
	return fmt.Sprintf("QR%d", int(q))
}

// results returns k, the results that a query of the set aims at, Q50To150's on average.
func (q QuerySet) results() int {
	return [...]int{QR0: 0, QR1: 1, QR2: 100, QR3: 1000, Q50To150: (leastResults + mostResults) / 2}[q]
}

// QueryBytes is what Queries takes for an item besides the item itself.
const QueryBytes = 150

// Queries yields the set's queries on the given items, in their order, by the
// benchmark's recipe: for every int(10*sqrt(k)+0.5)-th rectangle the square
// around its centre that just reaches the k rectangles nearest by the
// L-infinity distance. A query whose number of results would differ from k by
// more than 50 % (rectangles at equal distance: several on the centre, for
// QR1) is omitted, and so is one beyond float64's range. QR0 takes every 10th
// rectangle. Q50To150 draws a k for each query, the same in every call, and omits
// those with more results than its most.
//
// The items are put into a tree first, which takes some seconds for the full
// set and QueryBytes per item; a query then costs O(k log n). Items must be
// valid.
func (q QuerySet) Queries(items []rstar.Item) iter.Seq[rstar.Rect] {
	if q < QR0 || q > Q50To150 {
		return func(func(rstar.Rect) bool) {}
	}
	if q == QR0 {
		return func(yield func(rstar.Rect) bool) {
			for i := 0; i < len(items); i += 10 {
				x, y := centre(items[i].Rect)
				if !yield(rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}) {
					return
				}
			}
		}
	}
	k := q.results()
	step := int(float64(10*math.Sqrt(float64(k))) + 0.5)
	return func(yield func(rstar.Rect) bool) {
		var tree rtree.RTreeG[struct{}]
		for _, it := range items {
			tree.Insert(corners(it.Rect))
		}
		draw := rand.New(rand.NewPCG(leastResults, mostResults))
		for i := 0; i < len(items); i += step {
			k := k
			if q == Q50To150 {
				k = leastResults + draw.IntN(mostResults-leastResults+1)
			}
			box, n := around(&tree, items[i].Rect, k)
			if 2*n < k || 2*n > 3*k || q == Q50To150 && n > mostResults || box.Validate() != nil {
				continue
			}
			if !yield(box) {
				return
			}
		}
	}
}

func corners(r rstar.Rect) (lo, hi [2]float64, _ struct{}) {
	return [2]float64{r.MinX, r.MinY}, [2]float64{r.MaxX, r.MaxY}, struct{}{}
}

// around returns the square about r's centre that touches the k nearest
// rectangles, and how many it intersects, counted up to 2k.
func around(tree *rtree.RTreeG[struct{}], r rstar.Rect, k int) (rstar.Rect, int) {
	x, y := centre(r)
	chebyshev := func(lo, hi [2]float64, _ struct{}, _ bool) float64 {
		return max(lo[0]-x, x-hi[0], lo[1]-y, y-hi[1], 0)
	}
	// Half of the square's side is the distance of the k-th. Its borders are
	// rounded, so the nearest point of each of the k is included as well:
	// these are exact coordinates of the input. Of those at equal distance,
	// which the tree returns in any order, all count: the result depends on
	// the items alone.
	box := rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}
	left, reach := k, 0.0
	tree.Nearby(chebyshev, func(lo, hi [2]float64, _ struct{}, d float64) bool {
		if left <= 0 && d > reach {
			return false
		}
		px, py := min(max(x, lo[0]), hi[0]), min(max(y, lo[1]), hi[1])
		box = box.Union(rstar.Rect{MinX: px, MinY: py, MaxX: px, MaxY: py})
		reach = d
		left--
		return true
	})
	box = box.Union(rstar.Rect{
		MinX: x - reach, MinY: y - reach, MaxX: x + reach, MaxY: y + reach,
	})
	n := 0
	lo, hi, _ := corners(box)
	tree.Search(lo, hi, func(_, _ [2]float64, _ struct{}) bool {
		n++
		return n < 2*k
	})
	return box, n
}

// centre returns the middle of r, up to rounding.
func centre(r rstar.Rect) (x, y float64) {
	return float64(0.5*r.MinX) + float64(0.5*r.MaxX),
		float64(0.5*r.MinY) + float64(0.5*r.MaxY)
}
