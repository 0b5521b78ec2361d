package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// sides is a collection around 180 degrees, on both sides of it, of whose features
// some go over and back whenever a search pauses.
type sides struct {
	t      *testing.T
	c      *Collection
	r      *rand.Rand
	movers []string
	moves  int
}

const (
	sidesFeatures = 9000 // more than a search looks at in one piece, with small nodes
	sidesMovers   = 40
)

func newSides(t *testing.T) *sides {
	s := &sides{t: t, r: rand.New(rand.NewPCG(4, 2))}
	// The clock stands still: searches pause by count, and none for too long.
	stopped := func() time.Duration { return time.Hour }
	s.c = create(t, open(t, Options{NodeBytes: 704, Now: stopped}), CollectionOptions{})
	fill(t, s.c, sidesFeatures, func(i int) Feature {
		id := fmt.Sprint(i)
		if i < sidesMovers {
			s.movers = append(s.movers, id)
		}
		return Feature{ID: id, Geometry: s.place(i%2 == 0)}
	})
	return s
}

// fill puts n features at once.
func fill(t *testing.T, c *Collection, n int, f func(i int) Feature) {
	t.Helper()
	ended := make(chan error, n)
	for i := range n {
		f := f(i)
		value, err := f.Encode(c.o.Space)
		if err != nil {
			t.Fatal(err)
		}
		c.PutEncoded(f.ID, value, 0, kv.Condition{}, func(_ uint64, err error) { ended <- err })
	}
	for range n {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func (s *sides) place(east bool) orb.Point {
	x := 179 + s.r.Float64()
	if !east {
		x = -x
	}
	return orb.Point{x, s.r.Float64() - 0.5}
}

// pause is a search's Pace: all movers go over.
func (s *sides) pause() error {
	s.moves++
	for i, id := range s.movers {
		if _, _, err := s.c.Put(s.t.Context(), Feature{ID: id, Geometry: s.place((i+s.moves)%2 == 0)}, kv.Condition{}); err != nil {
			return err
		}
	}
	return nil
}

// check makes a search, and wants each feature once.
func (s *sides) check(what string, search func(ctx context.Context, yield func(*Found) (bool, error)) error) {
	s.t.Helper()
	before, found := s.moves, map[string]int{}
	if err := search(s.t.Context(), func(f *Found) (bool, error) { found[string(f.ID)]++; return true, nil }); err != nil {
		s.t.Fatal(what, err)
	}
	if s.moves == before {
		s.t.Errorf("%s: nothing moved", what)
	}
	for i := range sidesFeatures {
		if n := found[fmt.Sprint(i)]; n != 1 {
			s.t.Errorf("%s: feature %d was found %d times", what, i, n)
		}
	}
}

// TestFeatureCrossing180IsFoundOnce: what goes over 180 degrees while an area there is
// searched, for longer than in one piece, is found once, whichever search it is.
func TestFeatureCrossing180IsFoundOnce(t *testing.T) {
	s := newSides(t)
	for i := range 3 {
		s.check(fmt.Sprint("box ", i), func(ctx context.Context, yield func(*Found) (bool, error)) error {
			return s.c.Search(ctx, Query{Area: query.Box(178, -1, -178, 1), Pace: s.pause}, yield)
		})
		s.check(fmt.Sprint("circle ", i), func(ctx context.Context, yield func(*Found) (bool, error)) error {
			return s.c.Search(ctx, Query{Area: query.Circle(180, 0, 300_000), Pace: s.pause}, yield)
		})
		s.check(fmt.Sprint("within ", i), func(ctx context.Context, yield func(*Found) (bool, error)) error {
			return s.c.Nearest(ctx, NearestQuery{X: -180, Within: 300_000, Pace: s.pause}, yield)
		})
		s.check(fmt.Sprint("nearest ", i), func(ctx context.Context, yield func(*Found) (bool, error)) error {
			return s.c.Nearest(ctx, NearestQuery{X: 180, K: sidesFeatures, Pace: s.pause}, yield)
		})
		s.check(fmt.Sprint("more than there are ", i), func(ctx context.Context, yield func(*Found) (bool, error)) error {
			return s.c.Nearest(ctx, NearestQuery{X: -179.5, K: sidesFeatures + 1, Pace: s.pause}, yield)
		})
	}
}

// TestNearestTwoStates: two states of one feature take one place, that of the later
// one if that is near enough.
func TestNearestTwoStates(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	offer := func(n *NearestSoFar, id string, x float64) {
		t.Helper()
		_, _, err := c.Put(t.Context(), Feature{ID: id, Geometry: orb.Point{x, 0}}, kv.Condition{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.GetMany(t.Context(), []string{id}, func(_ int, f *Found) (bool, error) {
			return true, n.Offer(f, 0)
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		what string
		at   [][2]any // id, x
		want string
	}{
		{"nearer", [][2]any{{"a", 3.}, {"b", 4.}, {"a", 2.}}, "a2 b4"},
		{"farther", [][2]any{{"a", 2.}, {"b", 4.}, {"a", 3.}}, "a3 b4"},
		{"too far", [][2]any{{"a", 2.}, {"b", 4.}, {"a", 5.}}, "a2 b4"},
		{"another after it", [][2]any{{"a", 2.}, {"a", 3.}, {"b", 4.}, {"c", 5.}}, "a3 b4"},
		{"the farthest moves, and goes", [][2]any{{"a", 1.}, {"b", 4.}, {"b", 3.}, {"c", 2.}}, "a1 c2"},
		{"it comes back", [][2]any{{"a", 1.}, {"b", 4.}, {"c", 2.}, {"b", 1.5}}, "a1 b1.5"},
	} {
		q, err := c.PrepareNearest(NearestQuery{K: 2})
		if err != nil {
			t.Fatal(err)
		}
		n := q.Collect()
		for _, at := range x.at {
			offer(n, at[0].(string), at[1].(float64))
		}
		got := ""
		for f := range n.Result() {
			g := f.View.Geometry().(orb.Point)
			got += fmt.Sprintf(" %s%v", f.ID, g[0])
		}
		if got != " "+x.want {
			t.Errorf("%s: got%s, want %s", x.what, got, x.want)
		}
	}
}
