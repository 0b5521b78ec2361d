package peers

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

const (
	// seed of all random draws: the number does not matter, but is fixed.
	seed = 1
	// queryCount queries take 2 MiB, twice the L2 of the machine that
	// docs/decisions speaks of.
	queryCount = 1 << 16
	// nearestK is a page of answers to "near me".
	nearestK = 10
	// targetResults is the mean number of objects that a search of scale
	// 100-results finds.
	targetResults = 100
	// minObjects leaves room for scale 100-results.
	minObjects = 1000
	// maxObjects is the most that rstar loads at once.
	maxObjects = math.MaxUint32
)

var scales = []string{"1e-5", "1e-4", "1e-3", "1e-2", "100-results"}

// objectsWanted reads CATFISH_BENCH_OBJECTS.
func objectsWanted() (int, error) {
	s := os.Getenv("CATFISH_BENCH_OBJECTS")
	if s == "" {
		return datasets.DefaultObjects, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < minObjects || n > maxObjects {
		return 0, fmt.Errorf("CATFISH_BENCH_OBJECTS is %q, want a number in %d to %d",
			s, minObjects, maxObjects)
	}
	return n, nil
}

// workload is one data set with its queries.
type workload struct {
	data    string
	items   []rstar.Item // item i has id i
	bounds  rstar.Rect
	deletes []rstar.Item            // the items in random order, made on first use
	queries map[string][]rstar.Rect // by scale, made on first use
}

// newWorkload returns at most n objects of a data set, or nil for andorra
// when no file is given.
func newWorkload(data string, n int) (*workload, error) {
	w := &workload{
		data:    data,
		bounds:  rstar.Rect{MaxX: 1, MaxY: 1},
		queries: map[string][]rstar.Rect{},
	}
	var err error
	switch data {
	case "uniform":
		w.items, err = datasets.Collect(datasets.Uniform(int64(n), seed))
	case "skewed":
		w.items, err = datasets.Collect(datasets.Skewed(int64(n), seed))
	case "rea02-like":
		w.items, err = datasets.Collect(datasets.Rea02Like(int64(n), seed))
	case "andorra":
		path := os.Getenv("CATFISH_ANDORRA")
		if path == "" {
			return nil, nil
		}
		err = w.readFile(path, n)
	default:
		err = fmt.Errorf("data set %q, want one of %v", data, keys["data"])
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// readFile takes n objects of a file, in the file's order, and renumbers them.
func (w *workload) readFile(path string, n int) error {
	src, err := datasets.Open(path, datasets.Options{})
	if err != nil {
		return fmt.Errorf("CATFISH_ANDORRA: %w", err)
	}
	if w.items, err = datasets.Sample(src, n, seed); err != nil {
		return fmt.Errorf("CATFISH_ANDORRA: %w", err)
	}
	if len(w.items) < minObjects {
		return fmt.Errorf("CATFISH_ANDORRA: %s has %d objects, want at least %d",
			path, len(w.items), minObjects)
	}
	slices.SortFunc(w.items, func(a, b rstar.Item) int { return cmp.Compare(a.ID, b.ID) })
	w.bounds = w.items[0].Rect
	for i := range w.items {
		w.items[i].ID = uint64(i)
		w.bounds = w.bounds.Union(w.items[i].Rect)
	}
	return nil
}

// deleteOrder returns the items in random order.
func (w *workload) deleteOrder() []rstar.Item {
	if w.deletes == nil {
		w.deletes = slices.Clone(w.items)
		datasets.Shuffle(w.deletes, seed)
	}
	return w.deletes
}

// at returns the queries of a scale; count counts the objects in a rectangle.
func (w *workload) at(scale string, count func(rstar.Rect) int) ([]rstar.Rect, error) {
	if qs := w.queries[scale]; qs != nil {
		return qs, nil
	}
	var qs []rstar.Rect
	var err error
	switch {
	case scale == "100-results":
		qs = w.squares(count)
	case w.data == "uniform":
		qs, err = w.paperQueries(scale)
	default:
		qs, err = w.busyQueries(scale)
	}
	if err != nil {
		return nil, err
	}
	w.queries[scale] = qs
	return qs, nil
}

// paperQueries are those of the paper, uniform in the unit square.
func (w *workload) paperQueries(scale string) ([]rstar.Rect, error) {
	s, err := datasets.ParseScale(scale)
	if err != nil {
		return nil, err
	}
	next, err := datasets.Queries(s, w.bounds, seed, 0)
	if err != nil {
		return nil, err
	}
	qs := make([]rstar.Rect, queryCount)
	for i := range qs {
		qs[i] = next()
	}
	return qs, nil
}

// busyQueries have the paper's edges, but lie where objects are: in data that
// is not uniform, most of the area is empty, and searches there would find
// nothing.
func (w *workload) busyQueries(scale string) ([]rstar.Rect, error) {
	s, err := strconv.ParseFloat(scale, 64)
	if err != nil {
		return nil, fmt.Errorf("scale %q: %w", scale, err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	qs := w.centers(r)
	for i := range qs {
		// 1-Float64 is in (0, 1].
		w.grow(&qs[i], s*(1-r.Float64()), s*(1-r.Float64()))
	}
	return qs, nil
}

// squares are queries of one size that find 100 objects on average. For
// uniform data that size is sqrt(100/n), but for the objects' own extent; for
// others it is found by bisection.
func (w *workload) squares(count func(rstar.Rect) int) []rstar.Rect {
	centers := w.centers(rand.New(rand.NewPCG(seed, 2)))
	edge := math.Sqrt(targetResults / float64(len(w.items)))
	if w.data != "uniform" {
		edge = w.bisect(centers, count)
	}
	for i := range centers {
		w.grow(&centers[i], edge, edge)
	}
	return centers
}

// bisect finds the edge at which queries find 100 objects on average, to
// within 1 % of the first 4096 queries, a sixteenth of the time of all.
// TestHundredResults checks all of them.
func (w *workload) bisect(centers []rstar.Rect, count func(rstar.Rect) int) float64 {
	centers = centers[:4096]
	lo, hi := 0.0, 1.0
	for range 40 { // 2^-40 of the bounds is below any distance of objects
		edge := (lo + hi) / 2
		total := 0
		limit := len(centers) * targetResults
		for _, q := range centers {
			w.grow(&q, edge, edge)
			if total += count(q); total > limit*101/100 {
				break // a wide edge need not count all queries
			}
		}
		switch {
		case total > limit*101/100:
			hi = edge
		case total < limit*99/100:
			lo = edge
		default:
			return edge
		}
	}
	return hi
}

// centers returns points: uniform in the bounds for uniform data, else
// centers of random objects.
func (w *workload) centers(r *rand.Rand) []rstar.Rect {
	qs := make([]rstar.Rect, queryCount)
	for i := range qs {
		var x, y float64
		if w.data == "uniform" {
			x, y = r.Float64(), r.Float64()
		} else {
			x, y = center(w.items[r.IntN(len(w.items))].Rect)
		}
		qs[i] = rstar.Rect{MinX: x, MinY: y, MaxX: x, MaxY: y}
	}
	return qs
}

// grow widens a rectangle around its center by shares of the bounds.
func (w *workload) grow(q *rstar.Rect, x, y float64) {
	dx := x * (w.bounds.MaxX - w.bounds.MinX) / 2
	dy := y * (w.bounds.MaxY - w.bounds.MinY) / 2
	q.MinX, q.MaxX = q.MinX-dx, q.MaxX+dx
	q.MinY, q.MaxY = q.MinY-dy, q.MaxY+dy
}
