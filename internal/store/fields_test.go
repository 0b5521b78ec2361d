package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Every kind of search returns only the selected fields, and filters see all.
func TestFields(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	for i := range 10 {
		f := Feature{ID: fmt.Sprint(i), Properties: json.RawMessage(fmt.Sprintf(`{"name":"n%d","kind":"cafe","seats":%d}`, i, i))}
		if i < 9 {
			f.Geometry = orb.LineString{{1, 1}, {1, float64(2 + i)}}
		}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string]struct {
		fields     feature.Selection
		properties string // of feature 3
		geometry   bool
	}{
		"all":        {feature.Selection{}, `{"name":"n3","kind":"cafe","seats":3}`, true},
		"some":       {feature.Selection{Fields: []string{"seats", "none", "name"}}, `{"name":"n3","seats":3}`, true},
		"none":       {feature.Selection{Fields: []string{"none"}}, `{}`, true},
		"no prop":    {feature.Selection{NoProperties: true}, ``, true},
		"no geom":    {feature.Selection{NoGeometry: true, Fields: []string{"kind"}}, `{"kind":"cafe"}`, false},
		"id alone":   {feature.Selection{NoGeometry: true, NoProperties: true}, ``, false},
		"whole prop": {feature.Selection{NoGeometry: true}, `{"name":"n3","kind":"cafe","seats":3}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			met := 0
			look := func(f *Found) (bool, error) {
				met++
				v, err := feature.Parse(f.Value) // as a client does
				if err != nil {
					return false, err
				}
				if got := string(v.Properties()); string(f.ID) != "3" || got != x.properties || string(f.View.Properties()) != got {
					t.Errorf("%s: %s, want %s", f.ID, got, x.properties)
				}
				if got := v.Type() == feature.LineString; got != x.geometry || f.Revision == 0 {
					t.Errorf("a geometry: %v, revision %d", got, f.Revision)
				}
				return true, nil
			}
			const filter = `properties.seats == 3 && type == "LineString"`
			for _, q := range []Query{
				{Area: query.Box(0, 0, 2, 20)}, {Area: query.Box(0, 0, 2, 20), Order: query.ByID, Limit: 1}, {Order: query.ByID},
			} {
				q.Filter, q.Fields = filter, x.fields
				if err := c.Search(t.Context(), q, look); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Nearest(t.Context(), NearestQuery{K: 2, Filter: filter, Fields: x.fields}, look); err != nil {
				t.Fatal(err)
			}
			if met != 4 {
				t.Errorf("met %d times", met)
			}
		})
	}
	many := feature.Selection{Fields: make([]string, query.MaxFields+1)}
	if _, err := c.Prepare(Query{Fields: many}); !errors.Is(err, ErrQuery) {
		t.Error(err)
	}
	if _, err := c.PrepareNearest(NearestQuery{K: 1, Fields: many}); !errors.Is(err, ErrQuery) {
		t.Error(err)
	}
}

// Selecting costs no allocation for each feature.
func TestFieldsAllocs(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	for i := range 100 {
		f := Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}, Properties: json.RawMessage(`{"name":"n","kind":"cafe"}`)}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	var b Buffer
	allocs := func(s feature.Selection) float64 {
		p, err := c.Prepare(Query{Area: query.Box(0, 0, 2, 2), Fields: s})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(20, func() {
			n := 0
			if err := c.SearchWith(t.Context(), p, &b, func(*Found) (bool, error) { n++; return true, nil }); err != nil || n != 100 {
				t.Fatal(n, err)
			}
		})
	}
	whole, some := allocs(feature.Selection{}), allocs(feature.Selection{Fields: []string{"kind"}})
	if some > whole+5 {
		t.Errorf("%v allocations for 100 features with fields, %v without", some, whole)
	}
}
