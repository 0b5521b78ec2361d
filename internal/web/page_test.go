package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/store"
)

// A page ends before it exceeds pageBytes, whatever its limit, and the next page
// continues. A larger feature has a page of its own.
func TestPageOfLargeFeatures(t *testing.T) {
	w := newSite(t, Options{})
	put := func(id string, bytes int) {
		w.put("empty", store.Feature{ID: id, Geometry: orb.Point{1, 1}, Properties: json.RawMessage(`{"x":"` + strings.Repeat("x", bytes) + `"}`)})
	}
	for i := range 6 {
		put(fmt.Sprint(i), pageBytes/4)
	}
	put("large", pageBytes)
	const also = "S_INTERSECTS(geometry,BBOX(0,0,3,3))"
	for _, query := range []string{"?limit=100", "?limit=100&numberMatched=false", "?limit=100&bbox=0,0,2,2", "?limit=100&bbox=0,0,2,2&filter=" + also, "?limit=4"} {
		target, all := empty+query, []string{}
		for pages := 0; target != ""; pages++ {
			a := w.get(target)
			p := w.page(target)
			if len(a.body) > pageBytes+2000 && len(p.Features) > 1 || pages > 3 {
				t.Fatalf("%s: %d bytes, %d features on page %d", target, len(a.body), len(p.Features), pages)
			}
			all, target = append(all, p.ids()...), href(p.Links, "next", "")
		}
		if got := strings.Join(all, " "); got != "0 1 2 3 4 5 large" {
			t.Errorf("%s: %s", query, got)
		}
	}
	if a := w.get(empty + "?limit=100&f=html"); a.StatusCode != http.StatusOK || len(a.body) > 10_000 {
		t.Errorf("%s, %d bytes", a.Status, len(a.body))
	}
	near := "/collections/empty/nearest?point=1,1&limit="
	if a := w.get(near + "3"); a.StatusCode != http.StatusOK || len(a.body) > pageBytes+2000 {
		t.Errorf("%s, %d bytes", a.Status, len(a.body))
	}
	for _, limit := range []string{"4", "100"} {
		if p := w.problem(w.get(near+limit), http.StatusBadRequest); p.Parameter != "limit" || p.Value != limit || p.Limit != "at most 3" || !strings.Contains(p.Detail, "8388608") {
			t.Errorf("%s: %+v", limit, p)
		}
	}
}
