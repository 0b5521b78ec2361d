package web

import (
	"net/http"
	"strings"
	"testing"
)

// Altitudes written by POST, PUT and PATCH are in every answer with the feature, and in
// the events of its watchers.
func TestAltitudes(t *testing.T) {
	w := newSite(t, Options{})
	s := w.serveTest(t)
	events := follow(t, s.Client(), eventsOf(s, "bbox", "0,0,10,10"))
	events.next("progress")
	item := func(geometry string) string {
		return `{"type":"Feature","geometry":` + geometry + `,"properties":{"a":1}}`
	}
	const (
		high  = `{"type":"Point","coordinates":[1,2,834.5]}`
		line  = `{"type":"LineString","coordinates":[[1,2,3],[4,5],[6,7,-8]]}`
		tower = `{"type":"Point","coordinates":[3,4,1e-05]}`
	)
	at := w.must(w.do("POST", empty, item(high), asGeoJSON), http.StatusCreated).Header.Get("Location")
	has := func(geometry, event string) {
		t.Helper()
		if data := events.next(event).data; !strings.Contains(data, `"geometry":`+geometry+`,`) {
			t.Errorf("event %s, want %s", data, geometry)
		}
		for _, path := range []string{at, empty, empty + "?bbox=0,0,10,10", "/collections/empty/nearest?point=1,2&limit=1"} {
			if a := w.must(w.get(path), http.StatusOK); !strings.Contains(string(a.body), `"geometry":`+geometry+`,`) {
				t.Errorf("%s: %s, want %s", path, a.body, geometry)
			}
		}
	}
	has(high, "enter")
	w.must(w.do("PATCH", at, `{"properties":{"b":2}}`, asPatch), http.StatusNoContent)
	has(high, "changed")
	w.must(w.do("PATCH", at, `{"geometry":`+tower+`}`, asPatch), http.StatusNoContent)
	has(strings.Replace(tower, "1e-05", "0.00001", 1), "inside")
	w.must(w.do("PUT", at, item(line), asGeoJSON), http.StatusNoContent)
	has(line, "inside")
	w.must(w.do("PUT", at, item(`{"type":"Point","coordinates":[1,2]}`), asGeoJSON), http.StatusNoContent)
	has(`{"type":"Point","coordinates":[1,2]}`, "inside")
	if a := w.do("PUT", at, item(`{"type":"Point","coordinates":[1,2,1e999]}`), asGeoJSON); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), "1e999") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}
