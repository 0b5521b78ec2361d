package client

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
)

// TestPutManyReplaces: by every path each result says whether the id was new, also
// within a call, and where a message holds one feature alone. With IfAbsent nothing is
// replaced, and the result of an id that exists is an error.
func TestPutManyReplaces(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 40_000) + `"}` // more than fits into a message
	calls := func(t *testing.T, f *model.Features) {
		t.Helper()
		var all []model.Feature
		for i := range 600 {
			all = append(all, model.Feature{ID: fmt.Sprint(i % 500), Geometry: orb.Point{1, 2}})
		}
		all[100].Properties = []byte(long)
		results, err := f.PutMany(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if again := i >= 500; r.Err != nil || r.Revision == 0 || r.Replaced != again || r.Created == again {
				t.Fatalf("put %d: %+v", i, r)
			}
		}
		results, err = f.PutManyIf(t.Context(), []model.Feature{
			{ID: "new", Geometry: orb.Point{1, 2}}, {ID: "1", Geometry: orb.Point{1, 2}, Properties: []byte(long)},
			{ID: "new", Geometry: orb.Point{3, 4}}, {ID: "other", Geometry: orb.Point{1, 2}},
		}, kv.Condition{IfAbsent: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, exists := range []bool{false, true, true, false} {
			if r := results[i]; errors.Is(r.Err, kv.ErrExists) != exists || r.Replaced || r.Created == exists {
				t.Errorf("put %d if it is absent: %+v", i, r)
			}
		}
		if p, err := f.Get(t.Context(), "new"); err != nil || p.Geometry != (orb.Point{1, 2}) {
			t.Error(p, err)
		}
	}
	for _, p := range kvPaths() {
		t.Run(p.name, func(t *testing.T) {
			calls(t, dialFeatures(t, startFeatures(t, server.Options{}), p.options()))
		})
	}
	t.Run("local", func(t *testing.T) {
		l, err := server.Open(t.Context(), "", server.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.CreateFeatures(t.Context(), testFeatures, model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		f, err := l.Features(testFeatures)
		if err != nil {
			t.Fatal(err)
		}
		calls(t, f)
	})
}

// TestPutManyOlderServer: results of an older server do not say whether an id was new.
func TestPutManyOlderServer(t *testing.T) {
	s := startFeatures(t, server.Options{})
	c := dial(t, s, Options{Policy: "tcp"})
	c.conn.sessions.latest().hello.Replaces = false
	f, err := c.Features(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	places := []model.Feature{{ID: "a", Geometry: orb.Point{1, 2}}, {ID: "a", Geometry: orb.Point{1, 2}}}
	results, err := f.PutMany(t.Context(), places)
	for _, r := range results {
		if err != nil || r.Err != nil || r.Revision == 0 || r.Created || r.Replaced {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestStoreResultsAreChecked: a client checks where a server's results end.
func TestStoreResultsAreChecked(t *testing.T) {
	good := append(make([]byte, 0, 18), 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0)
	var r [2]model.PutResult
	if err := takeResults(good, true, r[:]); err != nil || !r[0].Replaced || !r[1].Created || r[1].Revision != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	for what, b := range map[string][]byte{
		"cut":         good[:len(good)-1],
		"longer":      append(good[:len(good):len(good)], 0),
		"not a truth": append(good[:len(good)-1:len(good)-1], math.MaxUint8),
	} {
		if err := takeResults(b, true, r[:]); !errors.Is(err, model.ErrProtocol) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
