package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

const (
	asGeoJSON = "Content-Type: application/geo+json"
	asPatch   = "Content-Type: application/merge-patch+json"
	empty     = "/collections/empty/items"
)

func point(x, y float64, properties string) string {
	return fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v]},"properties":%s}`, x, y, properties)
}

// must returns an answer that must have a status.
func (w *site) must(a answer, status int) answer {
	w.t.Helper()
	if a.StatusCode != status {
		w.t.Fatalf("%s: %s, want %d", a.Status, a.body, status)
	}
	return a
}

// The life cycle of a feature.
func TestWrites(t *testing.T) {
	w := newSite(t, Options{})
	a := w.must(w.do("POST", empty, point(1, 2, `{"a":1,"b":{"c":2}}`), asGeoJSON), http.StatusCreated)
	at := a.Header.Get("Location")
	tag := a.Header.Get("ETag")
	if !strings.HasPrefix(at, "http://example.com"+empty+"/") || tag == "" || len(a.body) != 0 {
		t.Errorf("Location %q, ETag %q, %q", at, tag, a.body)
	}
	get := func(want string) string {
		t.Helper()
		a := w.must(w.get(at), http.StatusOK)
		doc := a.json(t)
		b, err := json.Marshal([]any{doc["geometry"], doc["properties"]})
		if err != nil || string(b) != want {
			t.Errorf("%s, want %s", b, want)
		}
		return a.Header.Get("ETag")
	}
	if has := get(`[{"coordinates":[1,2],"type":"Point"},{"a":1,"b":{"c":2}}]`); has != tag {
		t.Errorf("ETag %s, created with %s", has, tag)
	}
	w.must(w.get(at, "If-None-Match: "+tag), http.StatusNotModified)
	w.must(w.get(at, "If-None-Match: \"x\", W/"+tag), http.StatusNotModified)
	w.must(w.get(at, "If-None-Match: "+tag, "Accept: text/html"), http.StatusOK) // another form
	w.must(w.get(at, "If-None-Match: *"), http.StatusNotModified)

	next := func(a answer) {
		t.Helper()
		w.must(a, http.StatusNoContent)
		if now := a.Header.Get("ETag"); now == tag || now == "" {
			t.Errorf("ETag %q, before %q", now, tag)
		}
		tag = a.Header.Get("ETag")
	}
	next(w.do("PATCH", at, `{"properties":{"a":null,"b":{"d":[3]}}}`, asPatch))
	get(`[{"coordinates":[1,2],"type":"Point"},{"b":{"c":2,"d":[3]}}]`)
	next(w.do("PATCH", at, `{"type":"Feature","geometry":{"type":"Point","coordinates":[5,6]}}`, asPatch, "If-Match: "+tag))
	get(`[{"coordinates":[5,6],"type":"Point"},{"b":{"c":2,"d":[3]}}]`)
	next(w.do("PATCH", at, `{"geometry":null,"properties":null}`, asPatch))
	get(`[null,null]`)
	next(w.do("PATCH", at, `{"properties":{"e":1}}`, asPatch))
	next(w.do("PUT", at, point(7, 8, `null`), asGeoJSON))
	if has := get(`[{"coordinates":[7,8],"type":"Point"},null]`); has != tag {
		t.Errorf("ETag %s, want %s", has, tag)
	}
	w.must(w.do("DELETE", at, ""), http.StatusNoContent)
	w.problem(w.get(at), http.StatusNotFound)
	w.problem(w.do("DELETE", at, ""), http.StatusNotFound)
	w.problem(w.do("PATCH", at, `{"properties":{}}`, asPatch), http.StatusNotFound)

	// PUT creates a feature, and POST takes an id that is free.
	if a := w.must(w.do("PUT", empty+"/x%2Fy", point(1, 1, `{}`), asGeoJSON), http.StatusCreated); !strings.HasSuffix(a.Header.Get("Location"), "/x%2Fy") {
		t.Error(a.Header)
	}
	own := strings.Replace(point(1, 1, `{}`), `{`, `{"id":"x/y",`, 1)
	w.problem(w.do("POST", empty, own, asGeoJSON), http.StatusConflict)
	w.must(w.do("POST", empty, strings.Replace(own, "x/y", "z", 1), asGeoJSON), http.StatusCreated)
	w.must(w.do("PUT", empty+"/x%2Fy", own, "Content-Type: application/json; charset=utf-8"), http.StatusNoContent)
}

func TestPreconditions(t *testing.T) {
	w := newSite(t, Options{})
	f := point(1, 2, `{}`)
	put := func(status int, headers ...string) string {
		t.Helper()
		return w.must(w.do("PUT", empty+"/a", f, append(headers, asGeoJSON)...), status).Header.Get("ETag")
	}
	put(412, "If-Match: *")
	put(412, `If-Match: "r1"`)
	first := put(201, "If-None-Match: *")
	put(412, "If-None-Match: *")
	put(412, "If-None-Match: "+first)
	put(412, "If-Match: W/"+first) // A weak tag names no state that may be written over.
	second := put(204, "If-Match: \"other\", "+first)
	put(412, "If-Match: "+first)
	third := put(204, "If-Match: *")
	fourth := put(204, `If-Match: `+strings.TrimSuffix(third, `"`)+`-html"`)
	for _, tag := range []string{first, second, third, `"r0"`, `""`, "x"} {
		w.problem(w.do("DELETE", empty+"/a", "", "If-Match: "+tag), http.StatusPreconditionFailed)
		w.problem(w.do("PATCH", empty+"/a", `{"properties":{}}`, asPatch, "If-Match: "+tag), http.StatusPreconditionFailed)
	}
	w.must(w.do("DELETE", empty+"/a", "", "If-Match: "+fourth), http.StatusNoContent)
	w.problem(w.do("DELETE", empty+"/a", "", "If-Match: "+fourth), http.StatusPreconditionFailed)
}

func TestBadBodies(t *testing.T) {
	w := newSite(t, Options{MaxBodyBytes: 10_000})
	w.put("empty", pointOf(1))
	deep := strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)
	cross := `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]},"properties":null}`
	for _, c := range []struct {
		method, target, body, header string
		status                       int
	}{
		{"POST", empty, point(1, 2, `{}`), "Content-Type: text/plain", 415},
		{"POST", empty, point(1, 2, `{}`), "X: y", 415},
		{"POST", empty, "", asGeoJSON, 400},
		{"POST", empty, "{", asGeoJSON, 400},
		{"POST", empty, "[]", asGeoJSON, 400},
		{"PUT", empty + "/a", `{"type":"FeatureCollection","features":[]}`, asGeoJSON, 400},
		{"POST", empty, point(1, 2, `7`), asGeoJSON, 400},
		{"POST", empty, point(1, 2, deep[:9000]), asGeoJSON, 422},
		{"POST", empty, point(1, 91, `{}`), asGeoJSON, 422},
		{"POST", empty, cross, asGeoJSON, 422},
		{"POST", empty, point(1, 2, `"`+strings.Repeat("x", 10_000)+`"`), asGeoJSON, 413},
		{"POST", empty + "?x=1", point(1, 2, `{}`), asGeoJSON, 400},
		{"POST", "/collections/none/items", point(1, 2, `{}`), asGeoJSON, 404},
		{"POST", "/collections/plane/items", point(1, 2, `{}`), asGeoJSON, 404},
		{"PUT", empty + "/a", `{"id":"b",` + point(1, 2, `{}`)[1:], asGeoJSON, 400},
		{"PUT", empty + "/" + strings.Repeat("x", 513), point(1, 2, `{}`), asGeoJSON, 400},
		{"PUT", empty + "/%ff", point(1, 2, `{}`), asGeoJSON, 400},
		{"PATCH", empty + "/p001", `{"properties":{}}`, asGeoJSON, 415},
		{"PATCH", empty + "/p001", `{}`, asPatch, 400},
		{"PATCH", empty + "/p001", `null`, asPatch, 400},
		{"PATCH", empty + "/p001", `[]`, asPatch, 400},
		{"PATCH", empty + "/p001", ``, asPatch, 400},
		{"PATCH", empty + "/p001", `{"properties":7}`, asPatch, 400},
		{"PATCH", empty + "/p001", `{"colour":7}`, asPatch, 400},
		{"PATCH", empty + "/p001", `{"id":"b","properties":{}}`, asPatch, 400},
		{"PATCH", empty + "/p001", `{"type":"Point","properties":{}}`, asPatch, 400},
		{"PATCH", empty + "/p001", `{"geometry":{"coordinates":[1,2]}}`, asPatch, 400},
		{"PATCH", empty + "/p001", `{"geometry":{"type":"Point","coordinates":[1,99]}}`, asPatch, 422},
	} {
		p := w.problem(w.do(c.method, c.target, c.body, c.header), c.status)
		if strings.Contains(p.Detail, "store: ") || strings.Contains(p.Detail, "kv: ") {
			t.Errorf("names a package: %s", p.Detail)
		}
	}
	p := w.page(empty)
	if len(p.Features) != 1 || fmt.Sprint(p.Features[0].Properties["n"]) != "1" {
		t.Errorf("something was written: %+v", p)
	}
}

// A patch keeps the expiry, and an expired feature does not exist.
func TestPatchKeepsExpiry(t *testing.T) {
	w := newSite(t, Options{})
	expires := time.Now().Add(time.Hour).Round(0)
	w.put("empty", store.Feature{ID: "a", Geometry: orb.Point{1, 2}, Expires: expires})
	w.must(w.do("PATCH", empty+"/a", `{"geometry":{"type":"Point","coordinates":[3,4]},"properties":{"x":1}}`, asPatch), http.StatusNoContent)
	f, err := w.coll("empty").Get(context.Background(), "a")
	if err != nil || !f.Expires.Equal(expires) || f.Geometry != (orb.Point{3, 4}) {
		t.Errorf("%+v, %v, want to expire at %v", f, err, expires)
	}
}

// Ten clients each add one to a number, by GET and PATCH with If-Match, and ten by
// PATCH of their own property without it: no update is lost.
func TestConcurrentWrites(t *testing.T) {
	w := newSite(t, Options{})
	w.put("empty", store.Feature{ID: "n", Properties: json.RawMessage(`{"n":0}`)})
	const clients, each = 5, 10
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for done := 0; done < each; {
				a := w.get(empty + "/n")
				var doc struct{ Properties struct{ N int } }
				if err := json.Unmarshal(a.body, &doc); err != nil {
					t.Error(err)
					return
				}
				switch a := w.do("PATCH", empty+"/n", fmt.Sprintf(`{"properties":{"n":%d}}`, doc.Properties.N+1), asPatch,
					"If-Match: "+a.Header.Get("ETag")); a.StatusCode {
				case http.StatusNoContent:
					done++
				case http.StatusPreconditionFailed:
				default:
					t.Errorf("%s: %s", a.Status, a.body)
					return
				}
			}
		})
		all.Go(func() {
			for i := range each {
				if a := w.do("PATCH", empty+"/n", fmt.Sprintf(`{"properties":{"c%d":%d}}`, c, i+1), asPatch); a.StatusCode != http.StatusNoContent {
					t.Errorf("%s: %s", a.Status, a.body)
				}
			}
		})
	}
	all.Wait()
	f, err := w.coll("empty").Get(context.Background(), "n")
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]int
	if err := json.Unmarshal(f.Properties, &p); err != nil {
		t.Fatal(err)
	}
	if p["n"] != clients*each || p["c0"] != each || len(p) != clients+1 {
		t.Errorf("%s, want n %d", f.Properties, clients*each)
	}
}

// Pages beside writers: a feature that exists throughout is returned once, whatever
// else is put, moved and deleted meanwhile.
func TestPagesBesideWriters(t *testing.T) {
	w := newSite(t, Options{})
	const n = 300
	for i := range n {
		w.put("empty", store.Feature{ID: fmt.Sprintf("k%04d", i), Geometry: orb.Point{float64(i % 50), 1}})
	}
	c := w.coll("empty")
	ctx, stop := context.WithCancel(context.Background())
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprintf("k%04d-x", i%n)
			if _, _, err := c.Put(context.Background(), store.Feature{ID: id, Geometry: orb.Point{float64(i % 60), 2}}, kv.Condition{}); err != nil {
				t.Error(err)
			}
			if i%3 == 0 {
				_, _ = c.Delete(context.Background(), id, kv.Condition{})
			}
		}
	})
	for _, query := range []string{"?limit=7", "?limit=7&numberMatched=false", "?limit=7&bbox=-1,0,90,10", "?limit=7&bbox=-1,0,90,10&numberMatched=false"} {
		ids, _ := w.walk(empty + query)
		seen := map[string]int{}
		for _, id := range ids {
			seen[id]++
		}
		for i := range n {
			if id := fmt.Sprintf("k%04d", i); seen[id] != 1 {
				t.Errorf("%s: %s is on %d pages", query, id, seen[id])
			}
		}
		for id, times := range seen {
			if times > 1 {
				t.Errorf("%s: %s is there %d times", query, id, times)
			}
		}
	}
	stop()
	writers.Wait()
}
