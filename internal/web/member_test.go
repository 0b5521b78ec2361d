package web

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
)

// A primary that stood still answers no reads until it knows what it is; a secondary
// answers with what it has; and writes are the group's matter.
func TestReadsOfAMember(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{Dir: t.TempDir(), Replicated: true, StoreID: [16]byte{1}, SlabBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	g := catfishtest.NewGroupOfOne()
	st.Replicate(g)
	c, err := st.CreateFeatures("a", store.CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Put(t.Context(), store.Feature{ID: "x", Geometry: orb.Point{1, 2}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	s, err := New(nil, Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.ServeFeatures(st)
	w := &site{s, t, st}
	reads := []string{
		"/collections", "/collections/a", "/collections/a/items", "/collections/a/items/x", "/collections/a/schema",
		"/collections/a/tiles/0/0/0.mvt", "/collections/a/tiles/3/7/7.mvt", // the second one is empty
	}
	tag := w.do("GET", "/collections/a/items/x", "").Header.Get("ETag")
	check := func(what string, want func(at string, a answer) bool) {
		t.Helper()
		for _, at := range reads {
			if a := w.do("GET", at, ""); !want(at, a) {
				t.Errorf("%s: GET %s answered %d: %s", what, at, a.StatusCode, a.body)
			}
		}
	}
	found := func(_ string, a answer) bool {
		return a.StatusCode == http.StatusOK || a.StatusCode == http.StatusNoContent
	}
	check("the primary", found)
	g.Grant(1, 0)
	check("a primary without a lease", func(_ string, a answer) bool {
		return a.StatusCode == http.StatusServiceUnavailable && a.Header.Get("ETag") == ""
	})
	w.problem(w.do("GET", "/collections/a/items/x", "", "If-None-Match: "+tag), http.StatusServiceUnavailable)
	if a := w.do("PUT", "/collections/a/items/x", point(1, 2, `{}`), asGeoJSON); a.StatusCode != http.StatusNoContent && a.StatusCode != http.StatusOK {
		t.Errorf("a write is answered with %d: %s", a.StatusCode, a.body)
	}
	if a := w.do("GET", "/", ""); a.StatusCode != http.StatusOK {
		t.Errorf("the landing page is answered with %d", a.StatusCode)
	}
	g.Grant(1|replica.OfSecondary, 0)
	check("a secondary", found)
	g.Grant(0, 0)
	check("a learner", found)
}
