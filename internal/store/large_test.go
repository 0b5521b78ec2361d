package store

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store/query"
)

// wound is a line that winds outwards, 16 positions a turn, whose chunks all overlap.
func wound(n int, offset float64) orb.LineString {
	l := make(orb.LineString, n)
	for i := range l {
		turn := float64(i) / 16
		s, c := math.Sincos(turn * 2 * math.Pi)
		l[i] = orb.Point{(turn + 2 + offset) * c / 100, (turn + 2 + offset) * s / 100}
	}
	return l
}

// windings is a polygon that lies between the turns of such a line.
func windings(n int) orb.Polygon {
	ring, back := orb.Ring(wound(n, 0)), wound(n, 0.2)
	slices.Reverse(back)
	ring = append(ring, back...)
	return orb.Polygon{append(ring, ring[0])}
}

func shifted(l orb.LineString, by float64) orb.LineString {
	for i := range l {
		l[i][0] += by
	}
	return l
}

// A search pauses within the test of one large geometry, and ends there when its pace
// says so, whatever its way.
func TestPausesWithinAFeature(t *testing.T) {
	const n = 4000
	now := time.Hour
	clock := func() time.Duration { now += stepTime; return now } // Each look finds that a step has ended.
	c := create(t, open(t, Options{Now: clock}), CollectionOptions{})
	fill(t, c, 2, func(i int) Feature {
		if i == 0 {
			return Feature{ID: "line", Geometry: wound(n, 0.6)}
		}
		return Feature{ID: "far", Geometry: shifted(wound(30*n, 0), 100)} // of distances
	})
	area := query.Polygon(windings(n))
	for name, search := range map[string]func(pace func() error) error{
		"by area": func(pace func() error) error { return c.Search(t.Context(), Query{Area: area, Pace: pace}, nil) },
		"in order": func(pace func() error) error {
			return c.Search(t.Context(), Query{Area: area, Order: query.ByID, Pace: pace}, nil)
		},
		"nearest": func(pace func() error) error {
			return c.Nearest(t.Context(), NearestQuery{K: 1, X: 100, Pace: pace}, func(f *Found) (bool, error) {
				if string(f.ID) != "far" || !(f.Distance > 0) {
					t.Errorf("%q is %v away", f.ID, f.Distance)
				}
				return true, nil
			})
		},
	} {
		paces := 0
		err := search(func() error { paces++; return nil })
		if least := 3; err != nil || paces < least {
			t.Errorf("%s: %d pauses, want %d at least, %v", name, paces, least, err)
		}
		enough, all := errors.New("enough"), paces
		paces = 0
		if err := search(func() error {
			if paces++; paces == all {
				return enough
			}
			return nil
		}); !errors.Is(err, enough) || errors.Unwrap(err) != nil || paces != all {
			t.Errorf("%s: told to end after %d pauses, it made %d: %v", name, all, paces, err)
		}
	}
	p, err := c.Prepare(Query{Area: area})
	if err != nil {
		t.Fatal(err)
	}
	begun := now
	err = c.SearchWith(t.Context(), p, &Buffer{Budget: 512}, nil)
	if looks := (now - begun) / stepTime; !errors.Is(err, ErrBudget) || looks > soonTime/stepTime+3 {
		t.Errorf("with a budget it looked at the clock %d times, each after %v: %v", looks, stepTime, err)
	}
}

// Searches that are made together end in the middle of a large geometry, too, when they
// have taken their time. Those before it are answered.
func TestTogetherEndsByTime(t *testing.T) {
	const n = 100_000
	var now, each time.Duration
	c := create(t, open(t, Options{Now: func() time.Duration { now += each; return time.Hour + now }}), CollectionOptions{})
	fill(t, c, 2, func(i int) Feature {
		if i == 0 {
			return Feature{ID: "point", Geometry: orb.Point{100, 1}}
		}
		return Feature{ID: "line", Geometry: wound(n, 0)}
	})
	// The second one is within the line's boxes, between its turns at their end: all that
	// is before is looked at.
	x := (float64(n)/16 + 0.5) / 100
	qs := []BoxSearch{{Box: [4]float64{99, 0, 101, 2}}, {Box: [4]float64{x, 0, x + 1e-6, 1e-6}}}
	for look, want := range map[time.Duration]int{0: 2, stepTime: 1} {
		var b Batch
		found := 0
		each = look
		if got := c.SearchTogether(t.Context(), qs, 512, &b, func(int, *Found) bool { found++; return true }); got != want || found != 1 {
			t.Errorf("each look at the clock takes %v: %d answered, want %d; %d features", look, got, want, found)
		}
	}
}
