package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
)

// A group that exists gets a map, another one is added and gets its share, by what the groups'
// primaries say of each slot; then it is drained and removed.
func TestGrowFromOneGroup(t *testing.T) {
	t.Parallel()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry := dial(t, c.Addr())
	a := inGroupOf(t, c.Addr(), "a", "n1")["n1"]
	connect := func() *catfish.Client {
		t.Helper()
		cl, err := catfish.Dial(t.Context(), a.addr, catfish.Options{Logger: catfishtest.Quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cl.Close() })
		return cl
	}
	one := connect()
	if err := one.CreateFeatures(t.Context(), "places", model.FeaturesOptions{}); err != nil {
		t.Fatal(err)
	}
	places, err := one.Features("places")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		f := placeAt(fmt.Sprint(i))
		f.Properties = fmt.Appendf(nil, `{"text":"%01000d"}`, i)
		if _, _, err := places.Put(t.Context(), f, model.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []string{"a", "b"} {
		var failed error
		if g == "a" {
			_, failed = groupmap.Init(t.Context(), registry, []placement.Group{{Name: g, Weight: 20}})
		} else {
			_, failed = groupmap.Add(t.Context(), registry, placement.Group{Name: g, Weight: 1})
		}
		if failed != nil {
			t.Fatal(failed)
		}
	}
	o := groupmap.Options{Moves: placement.MaxMoves, Tolerance: 0.05, Load: groupmap.AskLoads(registry, catfish.Options{Logger: catfishtest.Quiet()})}
	if _, err := groupmap.Rebalance(t.Context(), registry, o); !errors.Is(err, groupmap.ErrLoad) || !strings.Contains(err.Error(), `group "b" has no members yet`) {
		t.Errorf("before b was started: %v", err)
	}
	inGroupOf(t, c.Addr(), "b", "n1")
	places, err = connect().Features("places") // The first client knows one group.
	if err != nil {
		t.Fatal(err)
	}
	count := func() {
		t.Helper()
		if n, err := places.Count(t.Context(), model.FeatureQuery{}); err != nil || n != 400 {
			t.Errorf("%d features, %v", n, err)
		}
	}
	count()
	_, _, load, err := groupmap.Plan(t.Context(), registry, o)
	if err != nil {
		t.Fatal(err)
	}
	total := uint64(0)
	for _, n := range load.Slots {
		total += n
	}
	result, err := groupmap.Rebalance(t.Context(), registry, o)
	if err != nil || result.Bytes < total*4/100 || result.Bytes > total*5/100 {
		t.Errorf("%+v of %d bytes, %v", result, total, err)
	}
	count()
	if again, err := groupmap.Rebalance(t.Context(), registry, o); err != nil || again.Moves > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := groupmap.Drain(t.Context(), registry, "b", o); err != nil {
		t.Fatal(err)
	}
	if _, err := groupmap.Remove(t.Context(), registry, "b"); err != nil {
		t.Fatal(err)
	}
	if m := readMap(t, registry); len(m.Groups) != 1 || m.Groups[0].Name != "a" || len(m.Moves) > 0 {
		t.Errorf("%d groups, %d moves", len(m.Groups), len(m.Moves))
	}
	count()
	// Its servers are there still: it can be added again, and gets its share with the store that it has.
	if _, err := groupmap.Add(t.Context(), registry, placement.Group{Name: "b", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	if result, err := groupmap.Rebalance(t.Context(), registry, o); err != nil || result.Moves == 0 {
		t.Errorf("added again: %+v, %v", result, err)
	}
	count()
}
