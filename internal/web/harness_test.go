package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server with its own store. Collection countries has real borders, empty has
// nothing, plane is planar.
type site struct {
	*Server
	t  testing.TB
	st *store.Store
}

func newSite(t testing.TB, o Options) *site {
	t.Helper()
	return newSiteOf(t, store.Options{}, o)
}

// stoppedClock is for tests of scheduling slots, which searches also take by time: with
// it their number is the same on any machine.
func stoppedClock() time.Duration { return time.Hour }

func newSiteOf(t testing.TB, of store.Options, o Options) *site {
	t.Helper()
	of.SlabBytes = 1 << 30
	st, err := store.Open(context.Background(), of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, o := range map[string]store.CollectionOptions{
		"countries": {Title: "Countries", Description: "Borders of <some> countries"}, "empty": {}, "plane": {Space: feature.Planar},
	} {
		if _, err := st.CreateFeatures(name, o); err != nil {
			t.Fatal(err)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := New(nil, o)
	if err != nil {
		t.Fatal(err)
	}
	s.ServeFeatures(st)
	w := &site{s, t, st}
	r, err := places.Open("../../datasets/testdata/countries.geojson", places.Options{ID: "id", Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		w.put("countries", store.Feature{ID: p.ID, Geometry: p.Geometry, Properties: p.Properties})
	}
	return w
}

func (w *site) coll(name string) *store.Collection {
	w.t.Helper()
	c, err := w.st.Collection(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *site) put(collection string, f store.Feature) (revision uint64) {
	w.t.Helper()
	_, revision, err := w.coll(collection).Put(context.Background(), f, kv.Condition{})
	if err != nil {
		w.t.Fatal(err)
	}
	return revision
}

// points fills collection empty with n points, with ids p000 and so on.
func (w *site) points(n int) {
	w.t.Helper()
	for i := range n {
		w.put("empty", pointOf(i))
	}
}

// answer is an answer of the server.
type answer struct {
	*http.Response
	body []byte
}

// do sends a request with headers, such as "If-Match: *".
func (w *site) do(method, target, body string, headers ...string) answer {
	w.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	res := rec.Result()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	w.documented(r, res)
	return answer{res, b}
}

func (w *site) get(target string, headers ...string) answer {
	w.t.Helper()
	return w.do(http.MethodGet, target, "", headers...)
}

// json is the answer of a request that must succeed, as JSON.
func (w *site) json(target string) (doc map[string]any) {
	w.t.Helper()
	a := w.get(target)
	if a.StatusCode != http.StatusOK {
		w.t.Fatalf("GET %s: %s: %s", target, a.Status, a.body)
	}
	return a.json(w.t)
}

func (a answer) json(t testing.TB) (doc map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(a.body))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return doc
}

// problem is the problem that a request must end with.
func (w *site) problem(a answer, status int) problem {
	w.t.Helper()
	var p problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		w.t.Fatalf("%v: %s", err, a.body)
	}
	if a.StatusCode != status || p.Status != status || p.Title != http.StatusText(status) || p.Detail == "" ||
		a.Header.Get("Content-Type") != "application/problem+json" {
		w.t.Errorf("%s, %s: %s, want %d and a problem", a.Status, a.Header.Get("Content-Type"), a.body, status)
	}
	return p
}

// collection is a page of features.
type page1 struct {
	Type     string
	Features []struct {
		Type       string
		ID         string
		Geometry   json.RawMessage
		Properties map[string]any
	}
	Links          []link
	TimeStamp      string
	NumberMatched  *int
	NumberReturned int
}

func (w *site) page(target string) (p page1) {
	w.t.Helper()
	a := w.get(target)
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != typeGeoJSON {
		w.t.Fatalf("GET %s: %s, %s: %s", target, a.Status, a.Header.Get("Content-Type"), a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		w.t.Fatalf("%v: %s", err, a.body)
	}
	if p.NumberReturned != len(p.Features) {
		w.t.Errorf("GET %s: numberReturned %d of %d features", target, p.NumberReturned, len(p.Features))
	}
	return p
}

func (p *page1) ids() (ids []string) {
	for _, f := range p.Features {
		ids = append(ids, f.ID)
	}
	return ids
}

// walk returns the ids of all pages from target on.
func (w *site) walk(target string) (ids []string, pages int) {
	w.t.Helper()
	for target != "" {
		p := w.page(target)
		ids = append(ids, p.ids()...)
		target = href(p.Links, "next", "")
		if pages++; pages > 10_000 {
			w.t.Fatal("10,000 pages")
		}
	}
	return ids, pages
}
