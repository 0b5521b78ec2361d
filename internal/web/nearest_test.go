package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

const emptyNearest = "/collections/empty/nearest"

// near is a feature of an answer.
type near struct {
	ID         string
	Distance   *float64
	Properties map[string]any
}

// nearest returns the features of an answer.
func (w *site) nearest(query string) (features []near) {
	w.t.Helper()
	a := w.get(emptyNearest + "?" + query)
	var p struct {
		Type           string
		Features       []near
		NumberReturned int
	}
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != typeGeoJSON {
		w.t.Fatalf("%s: %s: %s", query, a.Status, a.body)
	}
	if err := json.Unmarshal(a.body, &p); err != nil {
		w.t.Fatalf("%v: %s", err, a.body)
	}
	if p.Type != "FeatureCollection" || p.NumberReturned != len(p.Features) {
		w.t.Errorf("%s: %s, %d of %d", query, p.Type, p.NumberReturned, len(p.Features))
	}
	return p.Features
}

// metres is the distance by the haversine formula, which package feature does not use.
func metres(a, b orb.Point) float64 {
	const rad = math.Pi / 180
	x, y := math.Sin((b[1]-a[1])*rad/2), math.Sin((b[0]-a[0])*rad/2)
	h := x*x + math.Cos(a[1]*rad)*math.Cos(b[1]*rad)*y*y
	return 2 * feature.EarthRadius * math.Asin(min(1, math.Sqrt(h)))
}

// The nearest features are those of a scan of all features, at the poles and at 180
// degrees, and with any filter.
func TestNearest(t *testing.T) {
	w := newSite(t, Options{})
	r := rand.New(rand.NewPCG(3, 4))
	all := map[string]orb.Point{}
	for i := range 400 {
		at := orb.Point{r.Float64()*360 - 180, r.Float64()*180 - 90}
		switch i % 4 {
		case 0: // near 180 degrees
			at[0] = math.Copysign(180-r.Float64(), at[0])
		case 1: // near a pole
			at[1] = math.Copysign(90-r.Float64(), at[1])
		}
		id := fmt.Sprintf("f%03d", i)
		all[id] = at
		w.put("empty", store.Feature{ID: id, Geometry: at, Properties: fmt.Appendf(nil, `{"n":%d,"distance":"own"}`, i)})
	}
	w.put("empty", store.Feature{ID: "nowhere", Properties: json.RawMessage(`{"n":1}`)})
	inBox := func(p orb.Point) bool { return p[0] >= 100 || p[0] <= -100 }
	for filter, passes := range map[string]func(n int, p orb.Point) bool{
		"":             func(int, orb.Point) bool { return true },
		"filter=n<100": func(n int, _ orb.Point) bool { return n < 100 },
		"n=77":         func(n int, _ orb.Point) bool { return n == 77 },
		"filter=n<0":   func(int, orb.Point) bool { return false },
		"filter=" + url.QueryEscape("S_INTERSECTS(geometry,BBOX(100,-90,-100,90)) AND n<300"):                                      func(n int, p orb.Point) bool { return inBox(p) && n < 300 },
		"filter=" + url.QueryEscape("NOT S_INTERSECTS(geometry,BBOX(100,-90,-100,90)) OR n=0"):                                     func(n int, p orb.Point) bool { return !inBox(p) || n == 0 },
		"filter=" + url.QueryEscape("S_INTERSECTS(geometry,BBOX(100,-90,-100,90)) AND S_INTERSECTS(geometry,BBOX(-180,0,180,90))"): func(_ int, p orb.Point) bool { return inBox(p) && p[1] >= 0 },
	} {
		for _, from := range []orb.Point{{0, 0}, {180, 10}, {-180, 10}, {-179.9, -60}, {0, 90}, {123, -90}, {12, 89.9}} {
			for _, bound := range []struct {
				limit int
				max   float64
			}{{7, 0}, {10_000, 0}, {10_000, 500_000}, {3, 2_000_000}, {1, 1}} {
				type want struct {
					id string
					d  float64
				}
				var wanted []want
				for id, p := range all {
					var n int
					if _, err := fmt.Sscanf(id, "f%d", &n); err != nil {
						t.Fatal(err)
					}
					if d := metres(from, p); passes(n, p) && (bound.max == 0 || d <= bound.max) {
						wanted = append(wanted, want{id, d})
					}
				}
				slices.SortFunc(wanted, func(a, b want) int { return cmp.Compare(a.d, b.d) })
				wanted = wanted[:min(len(wanted), bound.limit)]
				query := fmt.Sprintf("point=%v,%v&limit=%d&%s", from[0], from[1], bound.limit, filter)
				if bound.max > 0 {
					query += fmt.Sprintf("&max=%.0f", bound.max)
				}
				got := w.nearest(query)
				if len(got) != len(wanted) {
					t.Errorf("%s: %d features, want %d", query, len(got), len(wanted))
					continue
				}
				for i, g := range got {
					if g.Distance == nil || g.ID != wanted[i].id || math.Abs(*g.Distance-wanted[i].d) > 0.1 {
						t.Errorf("%s: at %d is %s, %v m, want %+v", query, i, g.ID, g.Distance, wanted[i])
						break
					}
					if g.Properties["distance"] != "own" {
						t.Errorf("%s: %v", query, g.Properties)
					}
				}
			}
		}
	}
}

// The distance of areas and lines is that of their nearest point, and 0 inside an area,
// as in the store.
func TestNearestBorders(t *testing.T) {
	w := newSite(t, Options{})
	for _, from := range []orb.Point{{9.55, 47.15}, {180, -17}, {-180, -17}, {0, 90}, {0, -90}} {
		var want []string
		if err := w.coll("countries").Nearest(t.Context(), store.NearestQuery{X: from[0], Y: from[1], K: 4}, func(f *store.Found) (bool, error) {
			want = append(want, fmt.Sprintf("%s %.3f", f.ID, f.Distance))
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		doc := w.json(fmt.Sprintf("/collections/countries/nearest?limit=4&point=%v,%v", from[0], from[1]))
		var got []string
		for _, f := range doc["features"].([]any) {
			f := f.(map[string]any)
			got = append(got, fmt.Sprint(f["id"], " ", f["distance"]))
		}
		if !slices.Equal(got, want) || len(want) != 4 {
			t.Errorf("%v: %q, want %q", from, got, want)
		}
		if got := rels(t, doc); !slices.Equal(got, []string{"self " + typeGeoJSON, "alternate " + typeHTML, "collection " + typeJSON}) {
			t.Errorf("links %q", got)
		}
	}
}

func TestNearestPage(t *testing.T) {
	w := newSite(t, Options{})
	w.put("empty", at("a<b", 1, 2, `{"name":"<i>"}`))
	a := w.get(emptyNearest+"?point=1,3", "Accept: text/html")
	body := string(a.body)
	if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), typeHTML) ||
		!strings.Contains(body, ">a&lt;b</a>") || strings.Contains(body, "<i>") || !strings.Contains(body, fmt.Sprintf("%.3f", metres(orb.Point{1, 2}, orb.Point{1, 3}))) {
		t.Errorf("%s, %v: %s", a.Status, a.Header, body)
	}
	if a := w.get(emptyNearest + "?point=1,3&filter=name='x'&f=html"); a.StatusCode != http.StatusOK || strings.Contains(string(a.body), "<table>") {
		t.Errorf("%s: %s", a.Status, a.body)
	}
}

// A truncated list has no next page, so it is refused instead.
func TestNearestTooLarge(t *testing.T) {
	w := newSite(t, Options{})
	text := strings.Repeat("x", 200<<10)
	const n = 50
	for i := range n {
		w.put("empty", at(fmt.Sprint(i), float64(i), 0, fmt.Sprintf(`{"text":%q}`, text)))
	}
	p := w.problem(w.get(emptyNearest+"?point=0,0&limit=100"), http.StatusBadRequest)
	var most int
	if _, err := fmt.Sscanf(p.Limit, "at most %d", &most); err != nil || p.Parameter != "limit" || most < 30 || most >= n {
		t.Errorf("%+v", p)
	}
	if got := w.nearest(fmt.Sprintf("point=0,0&limit=%d", most)); len(got) != most {
		t.Errorf("%d features, want %d", len(got), most)
	}
	if a := w.get(emptyNearest + "?point=0,0&limit=100&f=html"); a.StatusCode != http.StatusOK {
		t.Errorf("%s: %.300s", a.Status, a.body)
	}
	for _, b := range w.Budgets() {
		if b.Used != 0 {
			t.Errorf("%s: %d are held", b.Name, b.Used)
		}
	}
}

func TestNearestRefused(t *testing.T) {
	w := newSite(t, Options{})
	w.points(3)
	for query, parameter := range map[string]string{
		"": "point", "point=": "point", "point=1": "point", "point=1,2,3": "point", "point=a,2": "point", "point=1,": "point",
		"point=180.5,2": "point", "point=1,91": "point", "point=NaN,1": "point", "point=1,Inf": "point",
		"point=1,2&max=0": "max", "point=1,2&max=-5": "max", "point=1,2&max=NaN": "max", "point=1,2&max=Inf": "max", "point=1,2&max=x": "max",
		"point=1,2&limit=0": "limit", "point=1,2&limit=x": "limit", "point=1,2&bbox=0,0,1,1": "bbox", "point=1,2&colour=1": "colour",
		"point=1,2&filter=n+%3C": "filter", "point=1,2&point=1,2": "point", "point=1,2&datetime=yesterday": "datetime", "point=1,2&f=xml": "f",
	} {
		if p := w.problem(w.get(emptyNearest+"?"+query), http.StatusBadRequest); p.Parameter != parameter || p.Limit == "" && parameter != "filter" {
			t.Errorf("%s: %+v", query, p)
		}
	}
	w.problem(w.get("/collections/none/nearest?point=1,2"), http.StatusNotFound)
	w.problem(w.get("/collections/plane/nearest?point=1,2"), http.StatusNotFound)
	w.problem(w.do(http.MethodPost, emptyNearest+"?point=1,2", ""), http.StatusMethodNotAllowed)
	w.problem(w.get(emptyNearest+"?point=1,2", "Accept: image/png"), http.StatusNotAcceptable)
}
