package client

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

const testRoads = "roads"

// world is where degrees are.
var world = rstar.Rect{MinX: -180, MinY: -90, MaxX: 180, MaxY: 90}

// place gives a collection ranges by a sample of boxes, and publishes them to some groups.
func (k *testCluster) place(t testing.TB, collection string, boxes []rstar.Item, to ...*testGroup) {
	t.Helper()
	m, err := placement.Decode(k.now.Map)
	if err != nil {
		t.Fatal(err)
	}
	var s placement.Survey
	for _, it := range boxes {
		s.Add(it.Rect)
	}
	if m, err = m.AddBoxes(collection, s.Extent, s.Positions(s.Extent), nil); err != nil {
		t.Fatal(err)
	}
	m, err = m.BoundBoxes(collection, func(yield func(rstar.Rect) bool) {
		for _, it := range boxes {
			if !yield(it.Rect) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	k.boxes, k.now.Version = m.Boxes, m.Version
	k.publish(t, to...)
}

// roadsOf are boxes of a data set.
func roadsOf(t testing.TB, spec string, o datasets.Options) []rstar.Item {
	t.Helper()
	src, err := datasets.Open(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	items, err := datasets.Collect(src)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func sortItems(items []rstar.Item) []rstar.Item {
	slices.SortFunc(items, func(a, b rstar.Item) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Rect.MinX, b.Rect.MinX), cmp.Compare(a.Rect.MinY, b.Rect.MinY))
	})
	return items
}

func squareAt(x, y, side float64) rstar.Rect {
	return rstar.Rect{MinX: x - side/2, MinY: y - side/2, MaxX: x + side/2, MaxY: y + side/2}
}

// askedGroups is how many searches the servers have had.
func askedGroups(c *Client) uint64 {
	n := c.Counters()
	return n.FastSearches + n.OffloadedSearches
}

// Several groups with boxes answer as one server does, whatever path the client takes, and a
// small search asks few of them.
func TestBoxesOfSeveralGroupsAnswerAsOneServer(t *testing.T) {
	type set struct {
		name, spec string
		o          datasets.Options
		most       float64 // groups that searches of 0.01 degrees ask
		paths      []path
	}
	for _, d := range some([]set{
		// Its largest ways are a fifth of the country wide.
		{"Andorra's highways", "../../datasets/testdata/andorra.osm.pbf", datasets.Options{OSM: datasets.WayBoxes, HighwaysOnly: true}, 2.1, clusterPaths()[2:3]},
		{"California's roads", "california", datasets.Options{}, 1.1, clusterPaths()},
	}) {
		t.Run(d.name, func(t *testing.T) {
			ctx := t.Context()
			roads := roadsOf(t, d.spec, d.o)
			one := dial(t, startServer(t, server.Options{DataDir: t.TempDir()}), Options{})
			k := startCluster(t, "a", "b", "c")
			k.place(t, testRoads, roads, k.groups...)
			first := k.dial(t, k.addr(1), Options{})
			for _, c := range []*Client{one, first} {
				if err := c.CreateBoxes(ctx, testRoads, model.BoxesOptions{Keep: true}); err != nil {
					t.Fatal(err)
				}
				to, err := c.Collection(testRoads)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := to.Load(ctx, slices.Values(roads), nil); n != len(roads) || err != nil {
					t.Fatalf("%d of %d loaded, %v", n, len(roads), err)
				}
			}
			for _, g := range k.groups {
				b, err := g.s.Kept(testRoads)
				if err != nil {
					t.Fatal(err)
				}
				if n := b.Tree().Len(); float64(n) < 0.95*float64(len(roads)/3) || float64(n) > 1.05*float64(len(roads)/3) {
					t.Errorf("group %s has %d of %d boxes", g.name, n, len(roads))
				}
			}
			if l, err := first.Collections(ctx); err != nil || len(l) != 2 || l[1].Objects != len(roads) || !l[1].Kept {
				t.Errorf("%+v, %v", l, err)
			}
			for _, p := range d.paths {
				t.Run(p.name, func(t *testing.T) {
					c := k.dial(t, k.addr(0), p.options())
					c, one := c, one
					var err error
					if c, err = c.Collection(testRoads); err != nil {
						t.Fatal(err)
					}
					if one, err = one.Collection(testRoads); err != nil {
						t.Fatal(err)
					}
					sameBoxes(t, c, one, roads, d.most)
				})
			}
		})
	}
}

// sameBoxes compares what two clients find at places where boxes are.
func sameBoxes(t *testing.T, c, one *Client, roads []rstar.Item, most float64) {
	ctx := t.Context()
	r := rand.New(rand.NewPCG(1, 2))
	somewhere := func() (x, y float64) {
		b := roads[r.IntN(len(roads))].Rect
		return (b.MinX + b.MaxX) / 2, (b.MinY + b.MaxY) / 2
	}
	for _, of := range []struct {
		side     float64
		searches int
	}{{0, 60}, {0.01, 300}, {0.1, 60}, {1, 5}, {7, 2}} {
		side, searches := of.side, of.searches
		asked := askedGroups(c)
		var all []rstar.Rect
		var found [][]rstar.Item
		for range searches {
			x, y := somewhere()
			area := squareAt(x, y, side)
			want, err := one.Search(ctx, area)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.SearchAppend(ctx, []rstar.Item{{ID: 7}}, area, 0)
			if err != nil || len(got) == 0 || got[0].ID != 7 || !slices.Equal(sortItems(got[1:]), sortItems(want)) {
				t.Fatalf("%v: %d boxes, %v, want %d", area, len(got)-1, err, len(want))
			}
			all, found = append(all, area), append(found, want)
		}
		mean := float64(askedGroups(c)-asked) / float64(searches)
		t.Logf("searches of %v degrees ask %.3f groups", side, mean)
		if side == 0.01 && mean > most {
			t.Errorf("searches of %v degrees ask %.3f groups, want at most %v", side, mean, most)
		}
		for i, area := range all {
			if n, err := c.Count(ctx, area); n != len(found[i]) || err != nil {
				t.Errorf("%v: %d counted, %v, want %d", area, n, err, len(found[i]))
			}
		}
		next := 0
		err := c.SearchMany(ctx, all, func(i int, items []rstar.Item) error {
			if i != next || !slices.Equal(sortItems(slices.Clone(items)), found[i]) {
				t.Errorf("search %d of many: %d boxes, want %d", i, len(items), len(found[i]))
			}
			next++
			return nil
		})
		if next != len(all) || err != nil {
			t.Errorf("%d of %d searches, %v", next, len(all), err)
		}
	}
	for _, limit := range []int{1, 10, 5000} {
		if got, err := c.SearchAppend(ctx, nil, world, limit); len(got) != limit || err != nil {
			t.Errorf("%d boxes, %v, want the limit of %d", len(got), err, limit)
		}
	}
	asked, searches := askedGroups(c), 0
	for _, n := range []struct {
		k      int
		within float64
	}{{1, math.Inf(1)}, {10, math.Inf(1)}, {300, math.Inf(1)}, {10, 0.02}, {10, 0}, {len(roads) + 1, math.Inf(1)}} {
		for range min(20, 1+len(roads)/n.k) {
			x, y := somewhere()
			if n.k == 1 {
				x = math.Nextafter(x, 400) // beside the box
			}
			want, err := one.NearestWithin(ctx, x, y, n.k, n.within)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.NearestWithin(ctx, x, y, n.k, n.within)
			if err != nil || !sameNeighbors(got, want) {
				t.Fatalf("%d nearest to %v, %v within %v: %d, %v, want %d", n.k, x, y, n.within, len(got), err, len(want))
			}
			searches++
		}
	}
	t.Logf("nearest asks %.3f groups", float64(askedGroups(c)-asked)/float64(searches))
	x, y := somewhere()
	items, e, err := c.Explain(ctx, squareAt(x, y, 0.001), 0)
	if err != nil || len(e.Groups) == 0 || e.Results != len(items) || e.RoundTrips == 0 {
		t.Errorf("%d boxes, %+v, %v", len(items), e, err)
	}
	if _, e, err := c.Explain(ctx, world, 5); err != nil || len(e.Groups) != 3 || e.Results != 5 {
		t.Errorf("%+v, %v", e, err)
	}
}

// sameNeighbors: of several that are as far as the last one, any may be among the k.
func sameNeighbors(a, b []model.Neighbor) bool {
	return slices.EqualFunc(a, b, func(x, y model.Neighbor) bool {
		return x.Dist == y.Dist && (x.ID == y.ID || x.Dist == a[len(a)-1].Dist)
	})
}
