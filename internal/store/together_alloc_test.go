//go:build !race

package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/paulmach/orb"
)

// Once its buffers are large enough a batch allocates nothing. Not under the race
// detector, where sync.Pool drops objects at random.
func TestTogetherDoesNotAllocate(t *testing.T) {
	stopped := func() time.Duration { return time.Hour } // A batch ends by time, too.
	c := create(t, open(t, Options{Now: stopped}), CollectionOptions{})
	fill(t, c, 100, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 0}} })
	qs := make([]BoxSearch, 64)
	for i := range qs {
		qs[i].Box = [4]float64{float64(i), 0, float64(i + 1), 1}
	}
	var b Batch
	found := 0
	yield := func(int, *Found) bool { found++; return true }
	ctx := t.Context()
	search := func() {
		if n := c.SearchTogether(ctx, qs, 512, &b, yield); n != len(qs) {
			t.Fatalf("%d of %d searches answered", n, len(qs))
		}
	}
	search()
	if found != 2*len(qs) {
		t.Errorf("%d features found, want %d", found, 2*len(qs))
	}
	if n := testing.AllocsPerRun(100, search); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The nearest allocate no more for each feature that they look at: what is left is
// the browser of the tree, the circle and what yields in order.
func TestNearestDoesNotAllocate(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	fill(t, c, 1000, func(i int) Feature {
		return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / 100, 0}, Properties: fmt.Appendf(nil, `{"n":%d}`, i%10)}
	})
	p, err := c.PrepareNearest(NearestQuery{X: 5, K: 10, Filter: "properties.n == 3"})
	if err != nil {
		t.Fatal(err)
	}
	var b Buffer
	found := 0
	yield := func(*Found) (bool, error) { found++; return true, nil }
	ctx := t.Context()
	search := func() {
		if err := c.NearestWith(ctx, p, &b, yield); err != nil {
			t.Fatal(err)
		}
	}
	search()
	if found != 10 {
		t.Errorf("%d features found, want 10", found)
	}
	if n := testing.AllocsPerRun(100, search); n > 12 {
		t.Errorf("%v allocations of a search that looks at more than 100 features", n)
	}
}
