//go:build !race

package store

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store/query"
)

// A page's search allocates nothing for its features. Not under the race detector: see
// TestTogetherDoesNotAllocate.
func TestFirstDoesNotAllocate(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	fill(t, c, 2000, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i % 50), 1}} })
	p, err := c.Prepare(Query{Area: query.Box(0, 0, 50, 2), Order: query.ByID, Limit: 400, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	b, given := new(Buffer), 0
	search := func() {
		if err := c.SearchWith(t.Context(), p, b, func(*Found) (bool, error) { given++; return true, nil }); err != nil {
			t.Fatal(err)
		}
	}
	search()
	if allocs := testing.AllocsPerRun(20, search); allocs > 4 || given != 22*400 {
		t.Errorf("%v allocations for a page of 400, %d features given", allocs, given)
	}
}
