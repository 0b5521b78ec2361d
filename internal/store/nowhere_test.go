package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Searches that want them find features without a geometry in any area, in the order of
// ids, too, beside writes that give and take geometries, after a restart, and after a
// collection was filled. No other search meets them.
func TestNowhere(t *testing.T) {
	dir := t.TempDir()
	st := open(t, Options{Dir: dir, Sync: disk.SyncOff, NodeBytes: 704})
	c := create(t, st, CollectionOptions{})
	r := rand.New(rand.NewPCG(9, 9))
	where := map[string]orb.Geometry{}
	put := func(i int) Feature {
		f := Feature{ID: fmt.Sprintf("f%04d", i)}
		if f.Properties = fmt.Appendf(nil, `{"id":%q}`, f.ID); r.IntN(3) > 0 {
			f.Geometry = orb.Point{r.Float64() * 10, r.Float64() * 10}
		}
		where[f.ID] = f.Geometry
		return f
	}
	check := func(name string, c *Collection) {
		t.Helper()
		for range 30 {
			x, y, limit := r.Float64()*10, r.Float64()*10, 1+r.IntN(200)
			area := query.Box(x, y, x+2, y+2)
			var in, out []string
			for id, g := range where {
				if g == nil {
					out = append(out, id)
				} else if p := g.(orb.Point); p[0] >= x && p[0] <= x+2 && p[1] >= y && p[1] <= y+2 {
					in = append(in, id)
				}
			}
			all := slices.Concat(in, out)
			slices.Sort(in)
			slices.Sort(all)
			for _, q := range []Query{
				{Area: area, Nowhere: true}, {Area: area},
				{Area: area, Nowhere: true, Order: query.ByID, Limit: limit, Count: true}, {Area: area, Order: query.ByID, Limit: limit},
			} {
				got, matched := page(t, c, q)
				want := in
				if q.Nowhere {
					want = all
				}
				if q.Count && matched != len(want) {
					t.Fatalf("%s: %+v: %d match, want %d", name, q, matched, len(want))
				}
				if q.Order == query.ByID {
					want = want[:min(limit, len(want))]
				} else {
					slices.Sort(got)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s: %+v: %q, want %q", name, q, got, want)
				}
			}
		}
		nearest := 0
		if err := c.Nearest(t.Context(), NearestQuery{K: len(where)}, func(f *Found) (bool, error) {
			if nearest++; f.View.Type() == feature.None {
				t.Errorf("%s: %q is near", name, f.ID)
			}
			return true, nil
		}); err != nil || nearest == 0 {
			t.Errorf("%s: %d are near, %v", name, nearest, err)
		}
		if e, ok := extent(c.set.tree, c.o.Space); !ok || e[0] < 0 || e[2] > 10 || e[3] > 10 {
			t.Errorf("%s: its extent is %v", name, e)
		}
		n := int64(0)
		for _, g := range where {
			if g == nil {
				n++
			}
		}
		if got := c.set.nowhere.Load(); got != n {
			t.Errorf("%s: it knows of %d without a geometry, want %d", name, got, n)
		}
	}
	fill(t, c, 1000, put)
	check("written", c)
	for range 1000 {
		i := r.IntN(1000)
		if id := fmt.Sprintf("f%04d", i); r.IntN(4) > 0 {
			if _, _, err := c.Put(t.Context(), put(i), kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		} else if _, ok := where[id]; ok {
			delete(where, id)
			if _, err := c.Delete(t.Context(), id, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	check("changed", c)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	st = open(t, Options{Dir: dir, Sync: disk.SyncOff, NodeBytes: 704})
	c, err := st.Collection("places")
	if err != nil {
		t.Fatal(err)
	}
	check("after a restart", c)
	clear(where)
	filled, err := st.CreateFeatures("filled", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filled.Fill(func() error { fill(t, filled, 1000, put); return nil }); err != nil {
		t.Fatal(err)
	}
	check("filled", filled)
	planar, err := st.CreateFeatures("planar", CollectionOptions{Space: feature.Planar})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, planar, 1, func(int) Feature { return Feature{ID: "a"} })
	if n := planar.set.tree.Len(); n != 0 {
		t.Errorf("the tree of a planar space has %d places of features without a geometry", n)
	}
	if _, err := planar.Prepare(Query{Area: query.Box(0, 0, 1, 1), Nowhere: true}); err == nil {
		t.Error("they can be asked for in a planar space")
	}
}

// A watcher of an area with Nowhere sees features without a geometry come, change, get
// a geometry elsewhere, and go; a watcher without Nowhere does not.
func TestWatchNowhere(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	areas := map[string]Query{"with": {Area: query.Box(0, 0, 1, 1), Nowhere: true}, "without": {Area: query.Box(0, 0, 1, 1)}}
	w := watch(t, c, 0, areas)
	write := func(g orb.Geometry, n int) {
		t.Helper()
		if _, _, err := c.Put(t.Context(), Feature{ID: "a", Geometry: g, Properties: fmt.Appendf(nil, `{"n":%d}`, n)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(area string, kind EventKind, why Why) {
		t.Helper()
		if e := next(t, w); e.Name != area || e.Kind != kind || e.Why != why {
			t.Errorf("%q: %v, %v, want %q: %v, %v", e.Name, e.Kind, e.Why, area, kind, why)
		}
	}
	write(nil, 1)
	want("with", query.Enter, 0)
	write(nil, 2)
	want("with", query.Changed, 0)
	write(orb.Point{0.5, 0.5}, 2)
	want("with", query.Inside, 0)
	want("without", query.Enter, 0)
	write(nil, 2)
	want("without", query.Exit, query.Moved)
	want("with", query.Inside, 0)
	write(orb.Point{5, 5}, 2)
	want("with", query.Exit, query.Moved)
	write(nil, 3)
	want("with", query.Enter, 0)
	if _, err := c.Delete(t.Context(), "a", kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	want("with", query.Exit, query.Deleted)
}
