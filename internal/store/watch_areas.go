package store

import (
	"fmt"
	"sync/atomic"

	"github.com/paulmach/orb"
	"github.com/tidwall/rtree"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/store/query"
)

// area is one that a watcher watches.
type area struct {
	w      *Watcher
	name   string
	p      *Prepared
	from   uint64 // it counts for revisions above
	weight int    // by which it counts
	gone   atomic.Bool
	seen   uint64 // a change for which it was found; used by the caller of Next
}

// areas finds the areas that a feature may concern.
type areas struct {
	tree       rtree.RTreeG[*area]
	everywhere map[*area]struct{} // those without a box
	visitor    func(*area)
	each       func(_, _ [2]float64, a *area) bool
}

func (s *areas) init() {
	s.everywhere = map[*area]struct{}{}
	s.each = func(_, _ [2]float64, a *area) bool { s.visitor(a); return true }
}

func (s *areas) insert(a *area) {
	for _, b := range a.p.Boxes() {
		s.tree.Insert([2]float64{b.MinX, b.MinY}, [2]float64{b.MaxX, b.MaxY}, a)
	}
	if len(a.p.Boxes()) == 0 {
		s.everywhere[a] = struct{}{}
	}
}

func (s *areas) remove(a *area) {
	for _, b := range a.p.Boxes() {
		s.tree.Delete([2]float64{b.MinX, b.MinY}, [2]float64{b.MaxX, b.MaxY}, a)
	}
	delete(s.everywhere, a)
}

// visit calls f with all areas that a feature with these boxes may concern, some
// several times.
func (s *areas) visit(boxes []feature.Box, f func(*area)) {
	s.visitor = f
	for _, b := range boxes {
		s.tree.Search([2]float64{b.MinX, b.MinY}, [2]float64{b.MaxX, b.MaxY}, s.each)
	}
	for a := range s.everywhere {
		f(a)
	}
}

// maxFilters is how many different filters the areas of a watcher may have. A
// usual one takes some KB, the largest 300 KB.
const maxFilters = 256

// conditions are a query's, by which areas share their program.
type conditions struct {
	text  string
	where *filter.Program
}

// sharedFilter is the program of all areas with the same filter.
type sharedFilter struct {
	program *filter.Program
	areas   int
}

// Add watches an area, under a name that no other area of the watcher has. Before the
// first Next, it counts from WatchOptions.From on; later, for all writes that begin
// after Add has returned, and for none that was acknowledged before. The query's limit,
// order and cursor must be zero. ErrWatchLimit: there are too many areas, or filters.
func (w *Watcher) Add(name string, q Query) error {
	if q.Limit != 0 || q.Order != query.AnyOrder || q.After != "" {
		return fmt.Errorf("%w: limit, order or cursor of a watched area", ErrQuery)
	}
	shape := q
	shape.Filter, shape.Where = "", nil
	p, err := shape.Prepare(w.c.o.Space, w.c.st.filters)
	if err != nil {
		return err
	}
	if q.Nowhere && !p.Everywhere() {
		p.AddBox(nowhere)
	}
	p.Query = q
	p.Area = nil // Its polygon is prepared.
	a := &area{w: w, name: name, p: p, weight: WatchWeight(&q)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names[name] != nil {
		return fmt.Errorf("%w: area %q is watched already", ErrQuery, name)
	}
	if n := w.h.limits.WatcherAreas; w.weight+a.weight > n {
		return fmt.Errorf("%w: %d areas of a watcher (area %q counts as %d)", ErrWatchLimit, n, name, a.weight)
	}
	of := conditions{q.Filter, q.Where}
	program, err := w.filter(of)
	if err != nil {
		return err
	}
	p.SetFilter(program)
	if err := w.h.add(a, w.started); err != nil {
		return err
	}
	if of != (conditions{}) {
		shared := w.filters[of]
		if shared == nil {
			shared = &sharedFilter{program: program}
			w.filters[of] = shared
		}
		shared.areas++
	}
	w.names[name] = a
	w.areas.insert(a)
	w.weight += a.weight
	return nil
}

// filter is the program of the text, nil of none. w.mu is held.
func (w *Watcher) filter(of conditions) (*filter.Program, error) {
	if of == (conditions{}) {
		return nil, nil
	}
	if f := w.filters[of]; f != nil {
		return f.program, nil
	}
	if len(w.filters) >= maxFilters {
		return nil, fmt.Errorf("%w: %d different filters of a watcher", ErrWatchLimit, maxFilters)
	}
	if of.text == "" {
		return of.where, nil
	}
	f, err := cel.Compile(of.text, cel.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return f.And(of.where), nil
}

// Remove stops watching an area, and reports whether there was one. A Next that begins
// after Remove has returned gives no event of it.
func (w *Watcher) Remove(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.names[name]
	if a == nil {
		return false
	}
	a.gone.Store(true)
	w.h.remove(a)
	w.areas.remove(a)
	delete(w.names, name)
	w.weight -= a.weight
	of := conditions{a.p.Filter, a.p.Where}
	if shared := w.filters[of]; shared != nil {
		if shared.areas--; shared.areas == 0 {
			delete(w.filters, of)
		}
	}
	return true
}

// Areas returns the number of watched areas.
func (w *Watcher) Areas() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.names)
}

// add makes the hub find an area, from now on if its watcher has begun.
func (h *hub) add(a *area, started bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.w.err != nil {
		return a.w.err
	}
	if h.areas+a.weight > h.limits.Areas {
		return fmt.Errorf("%w: %d areas of all watchers (area %q counts as %d)", ErrWatchLimit, h.limits.Areas, a.name, a.weight)
	}
	a.from = a.w.start
	if started {
		// Not done: what is between them was acknowledged before.
		_, a.from = h.ring.kept()
	}
	h.areas += a.weight
	h.find(a)
	return nil
}

func (h *hub) remove(a *area) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if of := h.watched[a.w.c.num]; of != nil && a.w.err == nil {
		of.areas.remove(a)
		a.w.lose(a)
		h.areas -= a.weight
	}
}

// WatchWeight is the number of areas as which a watched one counts in WatchLimits.
func WatchWeight(q *Query) int {
	if q.Area == nil {
		return 1
	}
	return 1 + positions(q.Area.Polygon)/64
}

// positions of a polygon.
func positions(g orb.Geometry) (n int) {
	switch g := g.(type) {
	case orb.Ring:
		return len(g)
	case orb.Polygon:
		for _, r := range g {
			n += len(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n += positions(p)
		}
	}
	return n
}
