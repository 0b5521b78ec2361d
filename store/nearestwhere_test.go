package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/kv"
)

// Match chooses before the features are counted, and its error ends the search.
func TestNearestMatch(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	for i := range 200 {
		f := Feature{ID: fmt.Sprintf("%03d", i), Geometry: orb.Point{float64(i) / 10, 0}, Properties: fmt.Appendf(nil, `{"n":%d}`, i)}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	q := NearestQuery{K: 3, Filter: "properties.n > 20", Match: func(f *Found) (bool, error) { return f.ID[2] == '7', nil }}
	for _, within := range []float64{0, 5_000_000} {
		q.Within = within
		var ids []string
		if err := c.Nearest(t.Context(), q, func(f *Found) (bool, error) {
			ids = append(ids, string(f.ID))
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"027", "037", "047"}; !slices.Equal(ids, want) {
			t.Errorf("%q, want %q", ids, want)
		}
	}
	bad := errors.New("bad")
	q.Match = func(*Found) (bool, error) { return false, bad }
	if err := c.Nearest(t.Context(), q, func(*Found) (bool, error) { return true, nil }); !errors.Is(err, bad) {
		t.Error(err)
	}
}
