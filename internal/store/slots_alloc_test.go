//go:build !race

package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Neither a store's slots nor what it hides make calls allocate.
func TestSlotsDoNotAllocate(t *testing.T) {
	stopped := func() time.Duration { return time.Hour }
	st := open(t, Options{Now: stopped})
	c := create(t, st, CollectionOptions{})
	fill(t, c, 100, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 0}} })
	p, err := c.Prepare(Query{Area: query.Box(-1, -1, 50, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var b Buffer
	found := 0
	yield := func(*Found) (bool, error) { found++; return true, nil }
	value := place(t, 7)
	s := halves()
	ours := ""
	for i := 0; !s.Owned.has([]byte(ours)); i++ {
		ours = fmt.Sprint(i)
	}
	ids := []string{ours}
	measure := func() (all [3]float64) {
		for i, call := range []func(){
			func() {
				if err := c.SearchWith(t.Context(), p, &b, yield); err != nil {
					t.Fatal(err)
				}
			},
			func() {
				if err := c.GetMany(t.Context(), ids, func(_ int, f *Found) (bool, error) { return f != nil, nil }); err != nil {
					t.Fatal(err)
				}
			},
			func() {
				c.PutEncoded(ours, value, 0, kv.Condition{}, func(_ uint64, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			},
		} {
			all[i] = testing.AllocsPerRun(100, call)
		}
		return all
	}
	measure()
	found = 0
	want, all := measure(), found
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	found = 0
	if got := measure(); got != want || found == 0 || found >= all || !st.owned.Load().hides {
		t.Errorf("searches, gets and puts allocate %v times, %v before; %d features found, %d before", got, want, found, all)
	}
}
