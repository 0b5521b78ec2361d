package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Only the selected fields come, by every path; and by message the answer is small.
func TestFields(t *testing.T) {
	s := startFeatures(t, server.Options{})
	first := dialFeatures(t, s, Options{Policy: "tcp"})
	long := strings.Repeat("x", 2000)
	for i := range 20 {
		f := model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 1}, Properties: json.RawMessage(fmt.Sprintf(`{"n":%d,"long":"%s"}`, i, long))}
		if _, _, err := first.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	fields := model.FeatureFields{Fields: []string{"n"}, NoGeometry: true}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			o := p.options()
			o = WithHooks(o, keepYoung)
			o.Filters = cel.NewCache(64)
			c := dial(t, s, o)
			f, err := c.Features(testFeatures)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			check := func(place model.Feature, err error) {
				t.Helper()
				n++
				if err != nil || place.Geometry != nil || string(place.Properties) != `{"n":`+place.ID+`}` || place.Revision == 0 {
					t.Fatalf("%+v, %v", place, err)
				}
			}
			for _, q := range []model.FeatureQuery{
				{Area: query.Box(-1, 0, 30, 2), Filter: `properties.long.startsWith("xx")`},
				{Area: query.Box(-1, 0, 30, 2), Order: query.ByID, Limit: 20},
				{},
			} {
				q.Fields = fields
				for place, err := range f.Search(t.Context(), q) {
					check(place, err)
				}
			}
			for place, err := range f.Nearest(t.Context(), model.NearestQuery{X: 3, Y: 1, K: 20, Fields: fields, Filter: `properties.long != ""`}) {
				check(place, err)
			}
			all, err := f.GetFields(t.Context(), []string{"3", "none", "7"}, fields)
			if err != nil || len(all) != 3 || all[1].ID != "" {
				t.Fatal(all, err)
			}
			check(all[0], nil)
			check(all[2], nil)
			if n != 82 {
				t.Errorf("%d features, want 82", n)
			}
			if st := c.Counters().BytesReceived; (p.policy == "tcp" || p.policy == "fast") && (st == 0 || st > 20_000) {
				t.Errorf("%d bytes by messages", st)
			}
			many := model.FeatureFields{Fields: make([]string, query.MaxFields+1)}
			if _, err := f.GetFields(t.Context(), []string{"3"}, many); !errors.Is(err, store.ErrQuery) {
				t.Error(err)
			}
		})
	}
}

// A description is the same by all paths.
func TestDescribe(t *testing.T) {
	s := startFeatures(t, server.Options{})
	first := dialFeatures(t, s, Options{Policy: "tcp"})
	for i, x := range []float64{179, -179} {
		f := model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{x, 1}, Properties: json.RawMessage(`{"n":1,"kind":"cafe"}`)}
		if _, _, err := first.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Describe()
	if err != nil || want.Features != 2 || len(want.Properties) != 2 || want.Extent == nil || want.Extent[0] != 179 || want.Extent[2] != -179 {
		t.Fatalf("%+v, %v", want, err)
	}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			got, err := dialFeatures(t, s, p.options()).Describe(t.Context())
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
		})
	}
	if got, err := server.FeaturesOf(c).Describe(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	boxes := dial(t, s, Options{Policy: "tcp"})
	f, err := boxes.Features(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Describe(t.Context()); !errors.Is(err, model.ErrKind) {
		t.Error(err)
	}
	// An older server sends a shorter description, and whole features.
	c2 := dial(t, s, Options{Policy: "tcp"})
	c2.conn.sessions.latest().hello.Requests = wire.KindWatch
	f, err = c2.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := f.Describe(t.Context()); err != nil || d.Features != 2 || d.Name != testFeatures || d.Properties != nil {
		t.Errorf("%+v, %v", d, err)
	}
	n := 0
	for place, err := range f.Search(t.Context(), model.FeatureQuery{Area: query.Box(178, 0, -178, 2), Fields: model.FeatureFields{Fields: []string{"n"}}}) {
		if n++; err != nil || string(place.Properties) != `{"n":1}` {
			t.Errorf("%s, %v", place.Properties, err)
		}
	}
	if all, err := f.GetFields(t.Context(), []string{"0"}, model.FeatureFields{NoProperties: true}); err != nil || n != 2 || all[0].Properties != nil || all[0].Geometry == nil {
		t.Errorf("%d, %+v, %v", n, all, err)
	}
	if err := c2.SwapCollections(t.Context(), "a", "b"); !errors.Is(err, model.ErrVersionMismatch) {
		t.Error(err)
	}
}
