package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Watched areas
//
// Objects move about in a city of about 100 km by 100 km, by up to 140 m at a
// time, over circles of 500 m, all of one watcher: with 100,000 circles each
// place is in eight. Moves are timed from the first write to the receipt of the
// last event. Then every event is compared with those that follow from the
// moves, by the plain rule: before, after, and which circles hold which of them.
const (
	cityWest, citySouth = 13.0, 52.0
	cityWide, cityHigh  = 1.4, 0.9 // degrees
	fenceRadius         = 500      // metres
	// ahead is how many moves may wait for the watcher: half of the store's
	// limit for a slow watcher (store.WatchLimits.Changes).
	ahead = 1 << 15
)

// move is the move of an object, from its previous position.
type move struct {
	object   int
	from, to orb.Point
}

// fenceEvent is an event that a watcher received.
type fenceEvent struct {
	revision uint64
	object   int
	area     int
	kind     store.EventKind
}

type city struct {
	c       *store.Collection
	rng     *rand.Rand
	places  []orb.Point
	areas   []orb.Point
	moves   []move // timed ones, in the order of their revisions
	first   uint64 // the revision of the first one
	watcher *store.Watcher
	events  []fenceEvent
}

// fences moves objects at the highest rate, in one process.
func fences(ctx context.Context, job LocalJob) (*Sample, error) {
	st, err := store.Open(ctx, store.Options{})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	v := &city{rng: rand.New(rand.NewPCG(job.Seed, 5))}
	if v.c, err = st.CreateFeatures(collection, store.CollectionOptions{}); err != nil {
		return nil, err
	}
	v.places = make([]orb.Point, job.Objects)
	for i := range v.places {
		v.places[i] = v.point()
		if _, err := v.put(i); err != nil {
			return nil, err
		}
	}
	if v.watcher, err = v.c.Watch(ctx, store.WatchOptions{}); err != nil {
		return nil, err
	}
	defer v.watcher.Close()
	for i := range job.Areas {
		if err := v.watch(i, v.point()); err != nil {
			return nil, err
		}
	}
	s := &Sample{Latency: latency.New()}
	if err := v.run(ctx, job.Duration, s); err != nil {
		return nil, err
	}
	return s, v.check(s)
}

func (v *city) point() orb.Point {
	return orb.Point{cityWest + cityWide*v.rng.Float64(), citySouth + cityHigh*v.rng.Float64()}
}

// watch watches area i, around a point.
func (v *city) watch(i int, p orb.Point) error {
	v.areas = append(v.areas, p)
	return v.watcher.Add(strconv.Itoa(i), store.Query{Area: query.Circle(p[0], p[1], fenceRadius)})
}

// put writes an object at its position.
func (v *city) put(i int) (uint64, error) {
	value, err := feature.Append(nil, v.places[i], []byte(`{"kind":"bus"}`))
	if err != nil {
		return 0, err
	}
	var revision uint64
	v.c.PutEncoded("bus "+strconv.Itoa(i), value, 0, kv.Condition{}, func(r uint64, e error) { revision, err = r, e })
	return revision, err // In memory a write is done when PutEncoded returns.
}

// run moves objects for a while, and waits for all events.
func (v *city) run(ctx context.Context, d time.Duration, s *Sample) error {
	if err := v.watcher.Add(end, store.Query{Filter: `id == "` + end + `"`}); err != nil {
		return err
	}
	taken := make(chan error, 1)
	go func() { taken <- v.take(ctx) }()
	start := time.Now()
	last, err := v.moveAll(ctx, d, taken)
	if err == nil {
		value, encoded := feature.Append(nil, orb.Point{}, nil)
		v.c.PutEncoded(end, value, 0, kv.Condition{}, func(_ uint64, e error) { err = errors.Join(encoded, e) })
	}
	if err != nil {
		v.watcher.Close()
	}
	if e := <-taken; err == nil {
		err = e
	}
	s.Elapsed = time.Since(start)
	s.Ops, s.Features = int64(len(v.moves)), int64(len(v.events))
	s.More = map[string]float64{"areas": float64(len(v.areas)), "events_per_move": float64(len(v.events)) / float64(max(len(v.moves), 1))}
	if err == nil && last != v.first+uint64(len(v.moves))-1 {
		err = fmt.Errorf("%w: %d moves have revisions %d to %d", ErrWrong, len(v.moves), v.first, last)
	}
	return err
}

// end names the object that ends the events, and the area that contains it.
const end = "end"

// moveAll moves the objects in order, each at least once.
func (v *city) moveAll(ctx context.Context, d time.Duration, taken <-chan error) (last uint64, err error) {
	start := time.Now()
	for n := 0; n == 0 || time.Since(start) < d && len(taken) == 0; n++ {
		i := n % len(v.places)
		from := v.places[i]
		v.places[i] = orb.Point{
			min(max(from[0]+(v.rng.Float64()-.5)/500, cityWest), cityWest+cityWide),
			min(max(from[1]+(v.rng.Float64()-.5)/500, citySouth), citySouth+cityHigh),
		}
		if last, err = v.put(i); err != nil {
			return 0, err
		}
		if n == 0 {
			v.first = last
		}
		v.moves = append(v.moves, move{i, from, v.places[i]})
		for last > v.watcher.Revision()+ahead && len(taken) == 0 {
			if err := harness.Sleep(ctx, time.Millisecond); err != nil { // Let the watcher run.
				return 0, err
			}
		}
	}
	return last, nil
}

// take takes events until that of end.
func (v *city) take(ctx context.Context) error {
	for {
		e, err := v.watcher.Next(ctx)
		if err != nil || e.Name == end {
			return err
		}
		if e.Kind == query.Progress {
			continue
		}
		area, err := strconv.Atoi(e.Name)
		if err != nil {
			return fmt.Errorf("%w: an event of area %q", ErrWrong, e.Name)
		}
		object, err := strconv.Atoi(strings.TrimPrefix(e.ID, "bus "))
		if err != nil {
			return fmt.Errorf("%w: an event of object %q", ErrWrong, e.ID)
		}
		v.events = append(v.events, fenceEvent{e.Revision, object, area, e.Kind})
	}
}

// check compares all events with those that follow from the moves. Each move's
// events come together, in the order of moves, so none is out of order for its
// object.
func (v *city) check(s *Sample) error {
	g, err := newGrid(v.areas)
	if err != nil {
		return err
	}
	var want []fenceEvent
	rest := v.events
	for n, m := range v.moves {
		revision := v.first + uint64(n)
		if want, err = g.events(want[:0], revision, m); err != nil {
			return err
		}
		got := rest
		for i, e := range rest {
			if e.revision != revision {
				got = rest[:i]
				break
			}
		}
		rest = rest[len(got):]
		slices.SortFunc(got, func(a, b fenceEvent) int { return cmp.Compare(a.area, b.area) })
		s.Wanted, s.Found = s.Wanted+int64(len(want)), s.Found+int64(len(got))
		if !slices.Equal(got, want) {
			if s.Wrong++; s.First == "" {
				s.First = fmt.Sprintf("move %d of object %d: events %v, want %v", n, m.object, got, want)
			}
		}
	}
	if len(rest) > 0 {
		s.Wrong++
		s.First = cmp.Or(s.First, fmt.Sprintf("%d events out of order, the first: %v", len(rest), rest[0]))
	}
	return nil
}

// grid has the areas by cells of a hundredth of a degree: some 700 m by 1,100 m.
type grid struct {
	cells map[[2]int][]int
	areas []*feature.Query
	at    []orb.Point
	near  []int
}

const cell = 0.01

func newGrid(areas []orb.Point) (*grid, error) {
	g := &grid{cells: map[[2]int][]int{}, at: areas}
	for i, p := range areas {
		q, err := feature.NewCircle(feature.Geographic, p, fenceRadius, feature.Intersects)
		if err != nil {
			return nil, err
		}
		g.areas = append(g.areas, q)
		k := cellOf(p)
		g.cells[k] = append(g.cells[k], i)
	}
	return g, nil
}

func cellOf(p orb.Point) [2]int {
	return [2]int{int(math.Floor(p[0] / cell)), int(math.Floor(p[1] / cell))}
}

// events of a move, by area. Circles that hold a point have their centre in its cell
// or in one of those around it: a degree of longitude is 67 km at latitude 53, so a
// cell is wider than a radius.
func (g *grid) events(dst []fenceEvent, revision uint64, m move) ([]fenceEvent, error) {
	g.near = g.near[:0]
	k := cellOf(m.to)
	// One cell more: the object has moved.
	for x := k[0] - 2; x <= k[0]+2; x++ {
		for y := k[1] - 2; y <= k[1]+2; y++ {
			g.near = append(g.near, g.cells[[2]int{x, y}]...)
		}
	}
	slices.Sort(g.near)
	for _, a := range g.near {
		before, err := g.holds(a, m.from)
		if err != nil {
			return nil, err
		}
		after, err := g.holds(a, m.to)
		if err != nil {
			return nil, err
		}
		kind := query.Inside
		switch {
		case after && !before:
			kind = query.Enter
		case before && !after:
			kind = query.Exit
		case !before:
			continue
		case m.from == m.to:
			kind = query.Changed
		}
		dst = append(dst, fenceEvent{revision, m.object, a, kind})
	}
	return dst, nil
}

// holds reports whether a circle holds a point.
func (g *grid) holds(area int, p orb.Point) (bool, error) {
	// Farther than a circle reaches: one test in ten is left.
	if d := g.at[area]; math.Abs(d[1]-p[1]) > cell/2 || math.Abs(d[0]-p[0]) > cell {
		return false, nil
	}
	value, err := feature.Append(nil, p, nil)
	if err != nil {
		return false, err
	}
	v, err := feature.Parse(value)
	if err != nil {
		return false, err
	}
	return g.areas[area].Match(&v)
}
