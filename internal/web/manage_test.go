package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
)

const asJSON = "Content-Type: application/json"

// The life cycle of a collection.
func TestManageCollections(t *testing.T) {
	w := newSite(t, Options{})
	const at = "/collections/cafes"
	is := func(title, description string) {
		t.Helper()
		doc := w.json(at)
		text := func(name string) string { s, _ := doc[name].(string); return s }
		if doc["id"] != "cafes" || text("title") != title || text("description") != description {
			t.Errorf("%v, want %q and %q", doc, title, description)
		}
	}
	a := w.must(w.do("PUT", at, ""), http.StatusCreated) // without a body
	if to := a.Header.Get("Location"); to != "http://example.com"+at || len(a.body) > 0 {
		t.Errorf("Location %q, %q", to, a.body)
	}
	is("", "")
	w.must(w.do("PUT", at, "{}", asJSON), http.StatusNoContent) // unchanged
	w.must(w.do("POST", at+"/items", point(1, 2, `{}`), asGeoJSON), http.StatusCreated)
	w.must(w.do("PUT", at, `{"title":"Cafés","description":"Of a town"}`, asJSON), http.StatusNoContent)
	is("Cafés", "Of a town")
	w.must(w.do("PATCH", at, `{"title":"Cafes"}`, asPatch), http.StatusNoContent)
	is("Cafes", "Of a town")
	w.must(w.do("PATCH", at, `{"description":null,"id":"cafes"}`, asPatch), http.StatusNoContent)
	is("Cafes", "")
	// GET's answer is accepted as a body.
	w.must(w.do("PUT", at, string(w.get(at).body), asJSON), http.StatusNoContent)
	is("Cafes", "")
	if n := len(w.page(at + "/items").Features); n != 1 {
		t.Errorf("%d features after all that", n)
	}
	w.problem(w.do("POST", "/collections", `{"id":"cafes"}`, asJSON), http.StatusConflict)
	w.must(w.do("DELETE", at, ""), http.StatusNoContent)
	w.problem(w.get(at), http.StatusNotFound)
	w.problem(w.do("DELETE", at, ""), http.StatusNotFound)
	w.problem(w.do("PATCH", at, `{}`, asPatch), http.StatusNotFound)

	a = w.must(w.do("POST", "/collections", `{"id":"a?ä","title":"x"}`, asJSON), http.StatusCreated)
	to := strings.TrimPrefix(a.Header.Get("Location"), "http://example.com")
	if doc := w.json(to); doc["id"] != "a?ä" || doc["title"] != "x" || doc["itemCount"] != json.Number("0") {
		t.Errorf("%s: %v", to, doc)
	}
}

func TestBadCollections(t *testing.T) {
	w := newSite(t, Options{})
	long := strings.Repeat("x", api.MaxTextBytes+1)
	for _, c := range []struct {
		method, target, body, header string
		status                       int
		says                         string
	}{
		{"PUT", "/collections/new", `{}`, "X: y", 415, "application/json"},
		{"PUT", "/collections/new", `{"titel":"x"}`, asJSON, 400, `"titel" is unknown`},
		{"PUT", "/collections/new", `{"title":7}`, asJSON, 400, "title is 7, want a text"},
		{"PUT", "/collections/new", `{"title":"` + long + `"}`, asJSON, 400, "at most 4096"},
		{"PUT", "/collections/new", `{"id":"other"}`, asJSON, 400, `"other"`},
		{"PUT", "/collections/new", `{"itemType":"record"}`, asJSON, 400, "itemType"},
		{"PUT", "/collections/new", `{"crs":["http://www.opengis.net/def/crs/EPSG/0/3857"]}`, asJSON, 400, "3857"},
		{"PUT", "/collections/new", `[]`, asJSON, 400, "object"},
		{"PUT", "/collections/new", `null`, asJSON, 400, "object"},
		{"PUT", "/collections/new", strings.Repeat(`{"a":`, 100), asJSON, 422, "deeper"},
		{"PUT", "/collections/new?x=1", `{}`, asJSON, 400, `"x"`},
		{"PUT", "/collections/" + strings.Repeat("x", store.MaxNameBytes+1), `{}`, asJSON, 400, "1 to 128"},
		{"PUT", "/collections/%ff", `{}`, asJSON, 400, "UTF-8"},
		{"PUT", "/collections/plane", `{}`, asJSON, 404, "planar"},
		{"PATCH", "/collections/plane", `{}`, asPatch, 404, "planar"},
		{"DELETE", "/collections/plane", ``, "X: y", 404, "planar"},
		{"PATCH", countries, `{}`, asJSON, 415, "merge-patch"},
		{"PATCH", countries, ``, asPatch, 400, "object"},
		{"POST", "/collections", `{}`, asJSON, 400, "id is missing"},
		{"POST", "/collections", ``, asJSON, 400, "object"},
		{"POST", "/collections", `{"id":""}`, asJSON, 400, "1 to 128"},
		{"POST", "/collections", `{"id":"plane"}`, asJSON, 409, "plane"},
		{"DELETE", "/collections/none", ``, "X: y", 404, "none"},
		{"DELETE", countries + "?filter=TRUE", ``, "X: y", 400, "filter"},
	} {
		p := w.problem(w.do(c.method, c.target, c.body, c.header), c.status)
		if !strings.Contains(p.Detail, c.says) || strings.Contains(p.Detail, "store: ") || strings.Contains(p.Detail, "catfish: ") {
			t.Errorf("%s %.60s %.60s: %s, want %q", c.method, c.target, c.body, p.Detail, c.says)
		}
	}
	if n := len(w.json("/collections")["collections"].([]any)); n != 2 || w.json(countries)["title"] != "Countries" {
		t.Errorf("%d collections, something was changed", n)
	}
}

// A server that has boxes, too, and collections with options of its own.
func TestManageServer(t *testing.T) {
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Listen: "127.0.0.1:0", Transports: []string{catfish.TransportSoft}, SlabBytes: 1 << 28,
		Features: map[string]catfish.FeaturesOptions{"fixed": {Title: "Fixed"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if err := srv.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := srv.Store()
	if err != nil {
		t.Fatal(err)
	}
	s.ServeFeatures(st)
	w := &site{Server: s, t: t}
	w.must(w.do("PUT", "/collections/mine", `{"title":"x"}`, asJSON), http.StatusCreated)
	w.must(w.do("PATCH", "/collections/mine", `{"title":"y"}`, asPatch), http.StatusNoContent)
	if title := w.json("/collections/mine")["title"]; title != "y" {
		t.Error(title)
	}
	w.problem(w.do("PATCH", "/collections/fixed", `{"title":"y"}`, asPatch), http.StatusForbidden)
	w.problem(w.do("PUT", "/collections/default", ``), http.StatusConflict) // It has boxes.
	w.problem(w.do("POST", "/collections", `{"id":"default"}`, asJSON), http.StatusConflict)
	w.problem(w.do("DELETE", "/collections/default", ``), http.StatusNotFound)
	w.must(w.do("DELETE", "/collections/mine", ``), http.StatusNoContent)
	w.problem(w.get("/collections/mine"), http.StatusNotFound)
}

// A client that creates, alters or drops a collection needs role admin of it.
func TestManageKeys(t *testing.T) {
	keys, k := testKeys(t, "new*:write", "new*:admin", "other:admin")
	w := newSite(t, Options{Keys: keys})
	for _, c := range []struct {
		method, target, body, header string
		want                         int // of new*:admin
	}{
		{"PUT", "/collections/new", `{}`, asJSON, 201},
		{"PATCH", "/collections/new", `{"title":"x"}`, asPatch, 204},
		{"PUT", "/collections/new", `{}`, asJSON, 204},
		{"DELETE", "/collections/new", ``, "X: y", 204},
		{"POST", "/collections", `{"id":"new"}`, asJSON, 201},
		{"DELETE", "/collections/new2", ``, "X: y", 404},
	} {
		for i, want := range []int{403, c.want, 403, 401} {
			headers := []string{c.header}
			if i < len(k) {
				headers = append(headers, "Authorization: Bearer "+k[i])
			}
			if i == 1 { // The other keys come first, and change nothing.
				continue
			}
			w.problem(w.do(c.method, c.target, c.body, headers...), want)
		}
		w.must(w.do(c.method, c.target, c.body, c.header, "X-API-Key: "+k[1]), c.want)
	}
}
