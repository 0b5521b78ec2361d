package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/kv"
)

// Where chooses before the features are counted.
func TestNearestWhere(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	for i := range 200 {
		f := Feature{ID: fmt.Sprintf("%03d", i), Geometry: orb.Point{float64(i) / 10, 0}, Properties: fmt.Appendf(nil, `{"n":%d}`, i)}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	var tree filter.Tree
	var sevens []filter.Operand
	for n := 7; n < 200; n += 10 {
		sevens = append(sevens, filter.Literal(int64(n)))
	}
	where := tree.Program("n ends in 7", tree.Among(tree.Property([][]string{{"n"}}), sevens))
	q := NearestQuery{K: 3, Filter: "properties.n > 20", Where: where}
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
	// A condition that cannot be judged ends the search.
	put(t, c, at("long one", 2.5, 0, longText(5000)))
	slow, err := tree.Matches(tree.Property([][]string{{"s"}}), `(?:a?){100}b`)
	if err != nil {
		t.Fatal(err)
	}
	q = NearestQuery{K: 300, Where: tree.Program("slow", slow)}
	if err := c.Nearest(t.Context(), q, all); !errors.Is(err, filter.ErrCost) || !strings.Contains(err.Error(), `"long one"`) {
		t.Error(err)
	}
}
