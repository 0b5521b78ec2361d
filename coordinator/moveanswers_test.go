package coordinator

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	files "github.com/catfish-index/catfish/internal/places"
)

// realPlaces are the features of a map.
func realPlaces(t *testing.T) (all []model.Feature) {
	t.Helper()
	r, err := files.Open("../datasets/testdata/andorra.osm.pbf", files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, model.Feature{ID: p.ID, Geometry: p.Geometry, Properties: p.Properties})
	}
	return all
}

func dialFeatures(t *testing.T, addr string) (*catfish.Client, *catfish.Features) {
	t.Helper()
	c, err := catfish.Dial(t.Context(), addr, catfish.Options{Logger: catfishtest.Quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil && !errors.Is(err, catfish.ErrCollectionExists) {
		t.Fatal(err)
	}
	f, err := c.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	return c, f
}

func fill(t *testing.T, f *catfish.Features, all []model.Feature) {
	t.Helper()
	for some := range slices.Chunk(all, 1000) {
		results, err := f.PutMany(t.Context(), some)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
}

// answersOf are what queries of each kind return, as text, by the query.
func answersOf(t *testing.T, f *catfish.Features, all []model.Feature) map[string]string {
	t.Helper()
	ctx, answers := t.Context(), map[string]string{}
	note := func(name string, found []model.Feature) {
		h := fnv.New64a()
		for _, p := range found {
			fmt.Fprint(h, p.ID, p.Geometry, string(p.Properties), p.Distance, "\n")
		}
		answers[name] = fmt.Sprintf("%d features, %x", len(found), h.Sum64())
	}
	collect := func(name string, each func(yield func(model.Feature, error) bool)) {
		var found []model.Feature
		for p, err := range each {
			if err != nil {
				t.Fatal(name, err)
			}
			found = append(found, p)
		}
		note(name, found)
	}
	rng := rand.New(rand.NewPCG(33, 1))
	filters := []string{"", "has(properties.highway)", `has(properties.name) && properties.name.startsWith("C")`}
	for i := range 30 {
		x, y, size := 1.4+rng.Float64()*.35, 42.43+rng.Float64()*.22, []float64{.01, .03, .1}[i%3]
		area, filter := model.Box(x, y, x+size, y+size), filters[i%len(filters)]
		name := fmt.Sprintf("%.3f %.3f %.2f %s", x, y, size, filter)
		q := model.FeatureQuery{Area: area, Filter: filter, Order: model.ByID}
		collect("search "+name, f.Search(ctx, q))
		n, err := f.Count(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		answers["count "+name] = fmt.Sprint(n)
		q.Limit = 7
		for page := range 3 {
			var found []model.Feature
			for p, err := range f.Search(ctx, q) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, p)
			}
			note(fmt.Sprintf("page %d of %s", page, name), found)
			if len(found) == 0 {
				break
			}
			q.After = found[len(found)-1].ID
		}
		collect("nearest "+name, f.Nearest(ctx, model.NearestQuery{X: x, Y: y, K: 20, Filter: filter}))
	}
	for range 200 {
		id := all[rng.IntN(len(all))].ID
		p, err := f.Get(ctx, id)
		if err != nil {
			t.Fatal(id, err)
		}
		note(id, []model.Feature{p})
	}
	d, err := f.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	answers["description"] = fmt.Sprint(d.Features, d.Geometries)
	return answers
}

// A server, three groups, and four groups after the fourth was added and got its share give the
// same answers about a map.
func TestAnswersOfServerAndGroupsAreEqual(t *testing.T) {
	t.Parallel()
	all := realPlaces(t)
	alone := startHere(t, memberOf{Dir: filepath.Join(t.TempDir(), "data"), set: func(o *daemon.Options) { o.Group = daemon.Group{} }})
	_, f := dialFeatures(t, alone.addr)
	fill(t, f, all)
	want := answersOf(t, f, all)

	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	_, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	addr := ""
	for _, group := range []string{"a", "b", "c"} {
		addr = inGroupOf(t, c.Addr(), group, "n1")["n1"].addr
	}
	_, f = dialFeatures(t, addr)
	fill(t, f, all)
	same := func(when string, f *catfish.Features) {
		t.Helper()
		for name, got := range answersOf(t, f, all) {
			if got != want[name] {
				t.Errorf("%s: %s: %s, a server alone gives %s", when, name, got, want[name])
			}
		}
	}
	same("three groups", f)
	addGroup(t, registry, "d")
	inGroupOf(t, c.Addr(), "d", "n1")
	rebalance(t, registry)
	m := readMap(t, registry)
	has := map[placement.Index]int{}
	for _, g := range m.Slots {
		has[g]++
	}
	if least := slices.Min(slices.Collect(maps.Values(has))); len(has) != 4 || least < placement.Slots/4-8 {
		t.Errorf("slots of groups: %v", has)
	}
	same("four groups", f)
	_, again := dialFeatures(t, addr)
	same("four groups, another client", again)
}

// addGroup adds a group to the map, before it starts.
func addGroup(t *testing.T, registry *coord.Client, name string) {
	t.Helper()
	changeMap(t, registry, func(m *placement.Map) (*placement.Map, error) { return m.AddGroup(name, 1) })
}

// rebalance moves slots until each group has its share of them.
func rebalance(t *testing.T, registry *coord.Client) {
	t.Helper()
	var equal [placement.Slots]uint64
	for {
		moves, err := readMap(t, registry).Balance(&equal, placement.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		if len(moves) == 0 {
			return
		}
		changeMap(t, registry, func(m *placement.Map) (*placement.Map, error) { return m.Begin(moves...) })
		catfishtest.Eventually(t, "the moves have ended", func() bool { return len(readMap(t, registry).Moves) == 0 })
	}
}
