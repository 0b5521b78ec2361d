package store

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// moved is what a writer knows of its feature.
type moved struct {
	begun, done int // writes
	revision    uint64
	matches     bool
}

// TestFirstBesideWrites: a search by id in an area gives no feature twice, none in a
// state that does not match or that was replaced before, and all others that match, while
// they are moved within the area and out of it, changed and deleted. Values are too large
// to be kept, so they are read and judged again.
func TestFirstBesideWrites(t *testing.T) {
	c := create(t, open(t, Options{NodeBytes: 704}), CollectionOptions{})
	const places, writers = 48, 2
	id := func(i int) string { return fmt.Sprintf("%02d", i) }
	long := strings.Repeat("x", firstBytes/places*2)
	var mu sync.Mutex
	var now [places]moved
	write := func(i, n int) error {
		mu.Lock()
		now[i].begun++
		mu.Unlock()
		g, kind := orb.MultiPoint{{float64(n%7) + 0.1, 0.1}, {float64(n%7) + 0.9, 0.9}}, n%5
		next := moved{matches: n%7 < 6 && kind != 0 && n%11 > 0}
		var err error
		if n%11 == 0 {
			if next.revision, err = c.Delete(t.Context(), id(i), kv.Condition{}); err != nil {
				next.revision, err = now[i].revision, nil // There was none.
			}
		} else {
			f := Feature{ID: id(i), Geometry: g, Properties: fmt.Appendf(nil, `{"kind":%d,"text":%q}`, kind, long[i:])}
			_, next.revision, err = c.Put(t.Context(), f, kv.Condition{})
		}
		mu.Lock()
		next.begun, next.done = now[i].begun, now[i].begun
		now[i] = next
		mu.Unlock()
		return err
	}
	for i := range places {
		if err := write(i, i+1); err != nil {
			t.Fatal(err)
		}
	}
	stop, group := make(chan struct{}), sync.WaitGroup{}
	for w := range writers {
		group.Go(func() {
			for n := w; ; n += writers {
				select {
				case <-stop:
					return
				default:
				}
				if err := write(n%places, n*3+n/places); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var tree filter.Tree
	kind := tree.Property([][]string{{"kind"}})
	where := tree.Program("kind > 0", tree.Compare(kind, ">", filter.Literal(int64(0))))
	given := 0
	for _, limit := range []int{0, 10, 100} {
		q := Query{Area: query.Box(0, 0, 5.95, 1), Where: where, Order: query.ByID, Limit: limit, Count: true}
		for range 25 {
			mu.Lock()
			before := now
			mu.Unlock()
			last, met := "", map[string]bool{}
			if err := c.Search(t.Context(), q, func(f *Found) (bool, error) {
				i, err := strconv.Atoi(string(f.ID))
				at := f.View.Bound()
				switch {
				case err != nil:
					return false, err
				case string(f.ID) <= last:
					t.Errorf("%q after %q", f.ID, last)
				case f.Revision < before[i].revision:
					t.Errorf("%q of revision %d, want at least %d", f.ID, f.Revision, before[i].revision)
				case at.MinX >= 6 || strings.HasPrefix(string(f.View.Properties()), `{"kind":0`):
					t.Errorf("%q at %v of %.10s", f.ID, at, f.View.Properties())
				}
				last, met[string(f.ID)] = string(f.ID), true
				return true, nil
			}); err != nil {
				t.Fatal(err)
			}
			given += len(met)
			mu.Lock()
			for i, b := range before {
				still := b.begun == b.done && now[i].begun == b.begun
				if still && b.matches != met[id(i)] && (limit == 0 || len(met) < limit || id(i) < last) {
					t.Errorf("limit %d: %s was given: %t, want %t", limit, id(i), met[id(i)], b.matches)
				}
			}
			mu.Unlock()
		}
	}
	close(stop)
	group.Wait()
	if given == 0 {
		t.Error("nothing was given")
	}
}
