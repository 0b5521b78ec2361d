package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store/query"
)

// TestSearchReportsHeldBytes: a search reports the bytes that it keeps, gives all back,
// and ends when it may keep no more. A search that finds little reports nothing.
func TestSearchReportsHeldBytes(t *testing.T) {
	c := create(t, open(t, Options{NodeBytes: 704}), CollectionOptions{})
	const n = 9000 // 500 bytes each: 4.5 MB
	r := rand.New(rand.NewPCG(6, 1))
	fill(t, c, n, func(i int) Feature {
		return Feature{
			ID:         fmt.Sprintf("%0480d", i),
			Geometry:   orb.Point{r.Float64()*360 - 180, r.Float64()*170 - 85},
			Properties: fmt.Appendf(nil, `{"n":%d}`, i),
		}
	})
	world := query.Box(-180, -90, 180, 90)
	all := func(*Found) (bool, error) { return true, nil }
	for _, s := range []struct {
		name        string
		least, most int64
		search      func(ctx context.Context, hold func(int64) error) error
	}{
		// 40 bytes for each entry of the tree.
		{"by area", n * 40, n*40 + 256<<10, func(ctx context.Context, hold func(int64) error) error {
			return c.Search(ctx, Query{Area: world, Hold: hold, Filter: "false"}, all)
		}},
		{"count", n * 40, n*40 + 256<<10, func(ctx context.Context, hold func(int64) error) error {
			_, err := c.Count(ctx, Query{Area: world, Hold: hold})
			return err
		}},
		// The features found, too.
		{"nearest", n * 500, n * 1500, func(ctx context.Context, hold func(int64) error) error {
			return c.Nearest(ctx, NearestQuery{K: n, Hold: hold}, all)
		}},
		{"within", n * 500, n * 1500, func(ctx context.Context, hold func(int64) error) error {
			return c.Nearest(ctx, NearestQuery{Within: 30_000_000, Hold: hold}, all)
		}},
		// Counted, since it goes through the ids otherwise.
		{"first by id", n * 40, n * 1500, func(ctx context.Context, hold func(int64) error) error {
			return c.Search(ctx, Query{Area: world, Order: query.ByID, Count: true, Limit: n - 1, Hold: hold}, all)
		}},
		{"a few", 0, 0, func(ctx context.Context, hold func(int64) error) error {
			return c.Search(ctx, Query{Area: query.Box(0, 0, 10, 10), Hold: hold}, all)
		}},
		{"the nearest", 0, 0, func(ctx context.Context, hold func(int64) error) error {
			return c.Nearest(ctx, NearestQuery{K: 10, Hold: hold}, all)
		}},
		// In pieces: never much more than one, of 4 MiB, and the tree's entries.
		{"delete", deletePiece, deletePiece + n*40 + 512<<10, func(ctx context.Context, hold func(int64) error) error {
			deleted, err := c.DeleteWhere(ctx, Query{Area: world, Hold: hold})
			if err == nil && deleted != n {
				err = fmt.Errorf("%d deleted, want %d", deleted, n)
			}
			return err
		}},
	} {
		full := errors.New("full")
		if s.least > 0 {
			if err := s.search(t.Context(), func(int64) error { return full }); !errors.Is(err, full) {
				t.Errorf("%s: without room: %v", s.name, err)
			}
			if c.Len() != n {
				t.Fatalf("%s without room: %d features are left", s.name, c.Len())
			}
		}
		var now, most int64
		if err := s.search(t.Context(), func(bytes int64) error { now, most = bytes, max(most, bytes); return nil }); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if now != 0 || most < s.least-2*keptStep || most > s.most {
			t.Errorf("%s: held up to %d bytes, want %d to %d; %d at the end", s.name, most, s.least, s.most, now)
		}
	}
}

// TestDeleteWhereCallsRest before it waits for its writes; other requests run
// meanwhile. It continues in pieces though each feature was changed meanwhile.
func TestDeleteWhereCallsRest(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	const n = deletePiece/(400+foundBytes) + 100 // two pieces
	fill(t, c, n, func(i int) Feature {
		return Feature{ID: strings.Repeat("x", 390) + fmt.Sprintf("%010d", i), Geometry: orb.Point{1, 1}}
	})
	turn, rests := false, 0
	q := Query{
		Area: query.Box(0, 0, 2, 2),
		Pace: func() error { turn = true; return nil },
		Rest: func() { turn = false; rests++ },
	}
	deleted, err := c.DeleteWhere(t.Context(), q)
	if err != nil || deleted != n || c.Len() != 0 {
		t.Errorf("%d of %d deleted, %d left, %v", deleted, n, c.Len(), err)
	}
	if rests != 2 || turn {
		t.Errorf("rested %d times, want 2; has its turn: %t", rests, turn)
	}
}
