package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

// The Abstract Test Suite of OGC API - Features Part 1 (17-069r4, annex A), by its
// identifiers: TestATS_core_fc_op is /conf/core/fc-op. Data are the borders of 13
// countries in datasets/testdata, and points.

const countries = "/collections/countries"

// pointOf is the i-th point, with properties of all types.
func pointOf(i int) store.Feature {
	return store.Feature{
		ID: fmt.Sprintf("p%03d", i), Geometry: orb.Point{float64(i%360 - 180), float64(i%90) / 2},
		Properties: json.RawMessage(fmt.Sprintf(`{"n":%d,"half":%v,"even":%v,"name":"point %d","addr:city":"A\"b","datetime":%q}`,
			i, float64(i)/2, i%2 == 0, i, time.Unix(int64(i)*86400, 0).UTC().Format(time.RFC3339))),
	}
}

func rels(t *testing.T, doc map[string]any) (all []string) {
	t.Helper()
	for _, l := range doc["links"].([]any) {
		l := l.(map[string]any)
		for _, key := range []string{"href", "rel", "type"} {
			if s, _ := l[key].(string); s == "" {
				t.Errorf("link %v is without %s", l, key)
			}
		}
		all = append(all, fmt.Sprint(l["rel"], " ", l["type"]))
	}
	return all
}

func wantRels(t *testing.T, doc map[string]any, want ...string) {
	t.Helper()
	has := rels(t, doc)
	for _, r := range want {
		if !slices.Contains(has, r) {
			t.Errorf("no link %q among %q", r, has)
		}
	}
}

func TestATS_core_http(t *testing.T) {
	w := newSite(t, Options{})
	for target, status := range map[string]int{
		"/": 200, "/conformance": 200, "/api": 200, "/collections": 200, countries: 200, countries + "/items": 200,
		countries + "/schema": 200, countries + "/items/FJ": 200,
		"/nothing": 404, "/collections/": 404, "/collections/none": 404, "/collections/none/items": 404, countries + "/items/none": 404,
		"/collections/plane": 404, "/?x=1": 400,
	} {
		a, head := w.get(target), w.do(http.MethodHead, target, "")
		if a.StatusCode != status {
			t.Errorf("GET %s: %s, want %d", target, a.Status, status)
		}
		if len(a.body) == 0 || a.Header.Get("Content-Length") != strconv.Itoa(len(a.body)) {
			t.Errorf("GET %s: %d bytes, Content-Length %s", target, len(a.body), a.Header.Get("Content-Length"))
		}
		// The time in the answer may have changed, but not its length.
		if head.StatusCode != status || len(head.body) != 0 || head.Header.Get("Content-Length") != a.Header.Get("Content-Length") ||
			head.Header.Get("Content-Type") != a.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %s, %d bytes, %v", target, head.Status, len(head.body), head.Header)
		}
		if status != 200 {
			w.problem(a, status)
		}
	}
	for _, c := range []struct{ method, target, allow string }{
		{"POST", "/", "GET, HEAD, OPTIONS"},
		{"DELETE", "/collections", "GET, HEAD, POST, OPTIONS"},
		{"POST", countries, "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
		{"PATCH", countries + "/items", "GET, HEAD, POST, DELETE, OPTIONS"},
		{"POST", countries + "/items/FJ", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
		{"BREW", countries + "/items/FJ", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"},
	} {
		a := w.do(c.method, c.target, "")
		w.problem(a, http.StatusMethodNotAllowed)
		options := w.do(http.MethodOptions, c.target, "")
		if a.Header.Get("Allow") != c.allow || options.Header.Get("Allow") != c.allow || options.StatusCode != http.StatusNoContent {
			t.Errorf("%s %s: Allow is %q, OPTIONS %q %s, want %q", c.method, c.target, a.Header.Get("Allow"),
				options.Header.Get("Allow"), options.Status, c.allow)
		}
	}
}

func TestATS_core_root_op(t *testing.T) {
	w := newSite(t, Options{})
	if a := w.get("/"); a.StatusCode != http.StatusOK {
		t.Error(a.Status)
	}
}

func TestATS_core_root_success(t *testing.T) {
	w := newSite(t, Options{})
	wantRels(t, w.json("/"), "self application/json", "alternate text/html", "service-desc "+typeOpenAPI, "service-doc text/html",
		"conformance application/json", "data application/json")
	// Every link leads to a resource.
	for _, l := range w.json("/")["links"].([]any) {
		l := l.(map[string]any)
		if a := w.get(l["href"].(string)); a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), l["type"].(string)) {
			t.Errorf("%v: %s, %s", l, a.Status, a.Header.Get("Content-Type"))
		}
	}
}

func TestATS_core_api_definition(t *testing.T) { // -op and -success
	w := newSite(t, Options{})
	a := w.get(href(w.links("/"), "service-desc", ""))
	if a.Header.Get("Content-Type") != typeOpenAPI || a.json(t)["openapi"] != "3.0.3" {
		t.Errorf("%s: %.100s", a.Header.Get("Content-Type"), a.body)
	}
	if a := w.get(href(w.links("/"), "service-doc", "")); !strings.HasPrefix(a.Header.Get("Content-Type"), typeHTML) {
		t.Error(a.Header)
	}
}

// links of a document.
func (w *site) links(target string) []link {
	w.t.Helper()
	var doc struct{ Links []link }
	if err := json.Unmarshal(w.get(target).body, &doc); err != nil {
		w.t.Fatal(err)
	}
	return doc.Links
}

func TestATS_core_conformance(t *testing.T) { // -op and -success
	w := newSite(t, Options{})
	var has []string
	for _, c := range w.json("/conformance")["conformsTo"].([]any) {
		has = append(has, c.(string))
	}
	for _, class := range []string{"core", "oas30", "html", "geojson"} {
		if !slices.Contains(has, "http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/"+class) {
			t.Errorf("no class %s among %q", class, has)
		}
	}
}

func TestATS_core_crs84(t *testing.T) {
	w := newSite(t, Options{})
	// Andorra is at 1.5 degrees east, 42.5 north: longitude comes first.
	p := w.page(countries + "/items?bbox=1.5,42.5,1.6,42.6")
	if !slices.Contains(p.ids(), "AD") {
		t.Errorf("around Andorra: %q", p.ids())
	}
	if c := w.json(countries); fmt.Sprint(c["crs"]) != "["+crs84+"]" {
		t.Errorf("crs %v", c["crs"])
	}
}

func TestATS_core_query_param(t *testing.T) { // -unknown and -invalid
	w := newSite(t, Options{})
	w.points(3)
	items := countries + "/items?"
	for _, c := range []struct{ target, parameter string }{
		{"/?x=1", "x"}, {"/conformance?limit=1", "limit"}, {"/api?bbox=1", "bbox"}, {"/collections?limit=1", "limit"},
		{countries + "?x", "x"}, {countries + "/schema?x", "x"}, {countries + "/items/FJ?bbox=1,2,3,4", "bbox"}, {"/?f=xml", "f"}, {"/?f=", "f"},
		{items + "Bbox=1,2,3,4", "Bbox"}, {items + "bbox=", "bbox"}, {items + "bbox=1,2,3", "bbox"}, {items + "bbox=1,2,3,4,5", "bbox"},
		{items + "bbox=1,2,3,x", "bbox"}, {items + "bbox=1,2,3,NaN", "bbox"}, {items + "bbox=1,2,3,1e999", "bbox"},
		{items + "bbox=0,5,1,4", "bbox"}, {items + "bbox=-181,0,1,4", "bbox"}, {items + "bbox=0,0,181,4", "bbox"},
		{items + "bbox=0,-91,1,4", "bbox"}, {items + "bbox=0,0,1,91", "bbox"}, {items + "bbox=0,0,9,1,1,5", "bbox"},
		{items + "limit=0", "limit"}, {items + "limit=-1", "limit"}, {items + "limit=1.5", "limit"}, {items + "limit=ten", "limit"},
		{items + "limit=99999999999999999999", "limit"}, {items + "limit=", "limit"}, {items + "limit=1&limit=2", "limit"},
		{items + "datetime=yesterday", "datetime"}, {items + "datetime=../..", "datetime"}, {items + "datetime=/", "datetime"},
		{items + "datetime=2024-02-30", "datetime"}, {items + "datetime=2024-01-02/2024-01-01", "datetime"},
		{items + "datetime=2024-01-01/2024-01-02/2024-01-03", "datetime"}, {items + "datetime=2024-01-01T00:00:00", "datetime"},
		{items + "datetime=0000-01-01", "datetime"}, {items + "datetime=", "datetime"},
		{items + "after=", "after"}, {items + "after=" + strings.Repeat("x", 513), "after"}, {items + "numberMatched=no", "numberMatched"},
		{items + "colour=red", "colour"}, {items + "id=FJ&colour=red", "colour"}, {items + "%zz=1", "%zz=1"}, {items + "id=%ff", "id"},
		{items + "bbox-crs=x", "bbox-crs"}, {items + "a;b=1", "a;b"},
	} {
		p := w.problem(w.get(c.target), http.StatusBadRequest)
		if p.Parameter != c.parameter || !strings.Contains(p.Detail, strconv.Quote(c.parameter)) {
			t.Errorf("GET %.100s: parameter %q, want %q: %+v", c.target, p.Parameter, c.parameter, p)
		}
	}
	p := w.problem(w.get(items+"limit=0"), http.StatusBadRequest)
	if p.Value != "0" || !strings.Contains(p.Limit, "from 1 to 10000") {
		t.Errorf("%+v, want the value and the limit", p)
	}
	many := items
	for i := range maxParams + 1 {
		many += fmt.Sprintf("p%d=&", i)
	}
	w.problem(w.get(many), http.StatusBadRequest)
	w.problem(w.get(items+"id="+strings.Repeat("x", 5000)), http.StatusBadRequest) // a filter that is too long
}

func TestATS_core_fc_md(t *testing.T) { // fc-md-op, -success, -links
	w := newSite(t, Options{})
	doc := w.json("/collections")
	wantRels(t, doc, "self application/json", "alternate text/html")
	var names []string
	for _, c := range doc["collections"].([]any) {
		names = append(names, c.(map[string]any)["id"].(string))
	}
	if !slices.Equal(names, []string{"countries", "empty"}) {
		t.Errorf("collections %q", names)
	}
}

func TestATS_core_fc_md_items(t *testing.T) { // -items and -items-links
	w := newSite(t, Options{})
	for _, c := range w.json("/collections")["collections"].([]any) {
		c := c.(map[string]any)
		wantRels(t, c, "items "+typeGeoJSON, "items text/html", "describedby "+typeSchema)
		for _, page := range []string{"nearest?point=0,0", "counts?zoom=0"} {
			if !slices.ContainsFunc(c["links"].([]any), func(l any) bool { return strings.HasSuffix(l.(map[string]any)["href"].(string), "/"+page) }) {
				t.Errorf("no link to %s", page)
			}
		}
		for _, l := range c["links"].([]any) {
			if l.(map[string]any)["type"] == typeEvents {
				continue // The answer does not end (events_test.go).
			}
			if a := w.get(l.(map[string]any)["href"].(string)); a.StatusCode != http.StatusOK {
				t.Errorf("%v: %s", l, a.Status)
			}
		}
	}
}

func TestATS_core_fc_md_extent(t *testing.T) {
	w := newSite(t, Options{})
	w.points(90)
	doc := w.json("/collections/empty")["extent"].(map[string]any)["spatial"].(map[string]any)
	if got, want := fmt.Sprint(doc["bbox"], doc["crs"]), "[[-180 0 -91 44.5]]"+crs84; got != want {
		t.Errorf("extent %s, want %s", got, want)
	}
	w = newSite(t, Options{})
	if doc := w.json("/collections/empty"); doc["extent"] != nil {
		t.Errorf("extent %v of an empty collection", doc["extent"])
	}
}

func TestATS_core_sfc_md(t *testing.T) { // -op and -success
	w := newSite(t, Options{})
	own := w.json(countries)
	for _, c := range w.json("/collections")["collections"].([]any) {
		c := c.(map[string]any)
		if c["id"] != "countries" {
			continue
		}
		for _, key := range []string{"id", "title", "description", "extent", "crs", "itemType", "itemCount"} {
			if a, b := fmt.Sprint(own[key]), fmt.Sprint(c[key]); a != b || a == "<nil>" {
				t.Errorf("%s is %s, and %s among all", key, a, b)
			}
		}
		for _, l := range c["links"].([]any) {
			if !slices.ContainsFunc(own["links"].([]any), func(o any) bool {
				return o.(map[string]any)["href"] == l.(map[string]any)["href"] && o.(map[string]any)["rel"] == l.(map[string]any)["rel"]
			}) {
				t.Errorf("link %v is there among all, and not alone", l)
			}
		}
	}
	wantRels(t, own, "self application/json", "alternate text/html", "items "+typeGeoJSON)
}

func TestATS_core_fc_op(t *testing.T) {
	w := newSite(t, Options{})
	if p := w.page(countries + "/items"); p.Type != "FeatureCollection" || len(p.Features) != DefaultLimit {
		t.Errorf("%s of %d", p.Type, len(p.Features))
	}
	if p := w.page("/collections/empty/items"); p.Features == nil || len(p.Features) != 0 || *p.NumberMatched != 0 {
		t.Errorf("empty: %+v", p)
	}
}

// A bbox also finds features without a geometry (C); an area in a filter does not.
func TestATS_core_fc_bbox_response(t *testing.T) {
	w := newSite(t, Options{})
	w.put("empty", store.Feature{ID: "nowhere"})
	w.put("empty", store.Feature{ID: "somewhere", Geometry: orb.Point{1, 2}})
	for query, want := range map[string]string{
		"": "nowhere somewhere", "?bbox=-180,-90,180,90": "nowhere somewhere", "?bbox=50,50,51,51": "nowhere", "?filter=geometry%20IS%20NULL": "nowhere",
		"?bbox=50,50,51,51&filter=geometry%20IS%20NOT%20NULL": "", "?bbox=0,0,2,3&filter=S_INTERSECTS(geometry,BBOX(0,0,9,9))": "somewhere",
		"?filter=S_INTERSECTS(geometry,BBOX(0,0,9,9))": "somewhere",
	} {
		if ids, _ := w.walk("/collections/empty/items" + query); strings.Join(ids, " ") != want {
			t.Errorf("%q: %q, want %s", query, ids, want)
		}
	}
	for _, c := range []struct {
		bbox string
		want []string
	}{
		{"9.4,46.9,9.7,47.4", []string{"AT", "CH", "LI"}},
		{"9.4,46.9,0,9.7,47.4,9000", []string{"AT", "CH", "LI"}},
		{"177,-19,-179,-16", []string{"FJ"}}, // across 180 degrees
		{"177,65,-177,70", nil},
		{"10,-19,20,-16", nil},
		{"-180,-90,180,90", []string{"AD", "AT", "CH", "ES", "FJ", "FR", "IT", "LI", "MC", "SI", "SM", "TT", "VA"}},
		{"1.5,42.5,1.5,42.5", []string{"AD"}},
	} {
		for _, also := range []string{"", "&numberMatched=false", "&limit=2", "&limit=1&numberMatched=false"} {
			ids, _ := w.walk(countries + "/items?bbox=" + c.bbox + also)
			slices.Sort(ids)
			if !slices.Equal(ids, c.want) {
				t.Errorf("bbox=%s%s: %q, want %q", c.bbox, also, ids, c.want)
			}
		}
	}
}

func TestATS_core_fc_limit_response(t *testing.T) {
	w := newSite(t, Options{})
	w.points(25)
	for limit, want := range map[string]int{"": 10, "?limit=1": 1, "?limit=24": 24, "?limit=25": 25, "?limit=10000": 25, "?limit=1000000": 25} {
		p := w.page("/collections/empty/items" + limit)
		if next := href(p.Links, "next", ""); len(p.Features) != want || (next != "") != (want < 25) || *p.NumberMatched != 25 {
			t.Errorf("%q: %d features, %d matched, next %q, want %d", limit, len(p.Features), *p.NumberMatched, next, want)
		}
	}
}

func TestATS_core_fc_time_response(t *testing.T) {
	w := newSite(t, Options{})
	w.points(10) // the first ten days of 1970
	w.put("empty", store.Feature{ID: "q-no time"})
	w.put("empty", store.Feature{ID: "q-null", Properties: json.RawMessage(`{"datetime":null}`)})
	w.put("empty", store.Feature{ID: "r-day", Properties: json.RawMessage(`{"datetime":"1970-01-03"}`)})
	w.put("empty", store.Feature{ID: "r-zone", Properties: json.RawMessage(`{"datetime":"1970-01-03T00:30:00+01:00"}`)})
	for datetime, want := range map[string]string{
		"1970-01-03":                                "p002 r-day",
		"1970-01-03T00:00:00Z":                      "p002 r-day",
		"1970-01-03T01:00:00%2B01:00":               "p002 r-day",
		"1970-01-03T12:00:00Z":                      "r-day",
		"1970-01-02T23:30:00Z":                      "r-zone",
		"1970-01-03/1970-01-04":                     "p002 p003 r-day",
		"1970-01-02T12:00:00Z/1970-01-03T00:00:00Z": "p002 r-day r-zone",
		"1970-01-09/..":                             "p008 p009",
		"1970-01-09/":                               "p008 p009",
		"../1970-01-02":                             "p000 p001 r-zone",
		"2100-01-01":                                "",
	} {
		ids, _ := w.walk("/collections/empty/items?datetime=" + datetime)
		got := strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(strings.Join(ids, " "), "q-no time", ""), "q-null", ""))
		if strings.Join(strings.Fields(got), " ") != want || !slices.Contains(ids, "q-no time") || !slices.Contains(ids, "q-null") {
			t.Errorf("datetime=%s: %q, want %s and what has no time", datetime, ids, want)
		}
	}
}

func TestATS_core_fc_response(t *testing.T) {
	w := newSite(t, Options{})
	w.points(30)
	all, _ := w.walk("/collections/empty/items")
	if len(all) != 30 || !slices.IsSorted(all) {
		t.Errorf("all pages: %q", all)
	}
	for query, want := range map[string]string{
		"n=7": "p007", "half=3.5": "p007", "half=3": "p006", "half=3.0": "p006", "n=7.0": "p007", "n=0.7e1": "p007",
		"name=point+12": "p012", "even=true&n=4": "p004", "even=true&n=5": "", "addr:city=A%22b&n=3": "p003", "n=": "", "n=x": "",
		"n=7&bbox=-180,-90,180,90": "p007", "n=9&datetime=1970-01-10": "p009", "n=9&datetime=1970-01-11": "",
		"name=point+12%22+%7C%7C+true+%7C%7C+%22": "", // no escape from the quotes
	} {
		for _, also := range []string{"", "&numberMatched=false"} {
			p := w.page("/collections/empty/items?" + query + also)
			if got := strings.Join(p.ids(), " "); got != want || also == "" && *p.NumberMatched != len(p.Features) {
				t.Errorf("%s%s: %s, want %s", query, also, got, want)
			}
		}
	}
}

func TestATS_core_fc_links(t *testing.T) {
	w := newSite(t, Options{})
	w.points(100)
	p := w.page("/collections/empty/items?limit=3&bbox=-180,0,180,90&even=true&datetime=1970-01-01/..&f=json")
	next := href(p.Links, "next", typeGeoJSON)
	for _, want := range []string{"limit=3", "bbox=-180%2C0%2C180%2C90", "even=true", "datetime=1970-01-01%2F..", "f=json", "after=p004"} {
		if !strings.Contains(next, want) {
			t.Errorf("next is %q, without %s", next, want)
		}
	}
	if href(p.Links, "self", typeGeoJSON) == "" || href(p.Links, "alternate", typeHTML) == "" || href(p.Links, "collection", "") == "" {
		t.Errorf("links %v", p.Links)
	}
	if ids, pages := w.walk(next); len(ids) != 47 || pages != 16 {
		t.Errorf("%d more on %d pages, want 47 on 16", len(ids), pages)
	}
}

func TestATS_core_fc_timeStamp(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	w := newSite(t, Options{Now: func() time.Time { return now }})
	if p := w.page(countries + "/items"); p.TimeStamp != "2024-05-01T12:00:00Z" {
		t.Error(p.TimeStamp)
	}
}

func TestATS_core_fc_numberMatched(t *testing.T) {
	w := newSite(t, Options{})
	w.points(100)
	for query, want := range map[string]int{"": 100, "bbox=-180,0,-171,90": 10, "even=true": 50, "even=true&bbox=-180,0,-171,90": 5} {
		for _, also := range []string{"&limit=1", "&limit=3", "&limit=200", "&limit=2&after=p050"} {
			if p := w.page("/collections/empty/items?" + query + also); *p.NumberMatched != want {
				t.Errorf("%s%s: %d, want %d", query, also, *p.NumberMatched, want)
			}
			if p := w.page("/collections/empty/items?numberMatched=false&" + query + also); p.NumberMatched != nil {
				t.Errorf("%s%s: %d, want none", query, also, *p.NumberMatched)
			}
		}
	}
}

func TestATS_core_fc_numberReturned(t *testing.T) {
	w := newSite(t, Options{})
	w.points(100)
	for query, want := range map[string]int{"": 10, "limit=1": 1, "limit=100": 100, "limit=1000": 100, "limit=30&after=p089": 10,
		"bbox=-180,0,-171,90&limit=7": 7, "n=5": 1, "n=-1": 0, "limit=50&numberMatched=false": 50} {
		// page compares numberReturned with the features in the answer.
		if p := w.page("/collections/empty/items?" + query); p.NumberReturned != want {
			t.Errorf("%s: numberReturned %d, want %d", query, p.NumberReturned, want)
		}
	}
}

func TestATS_core_f(t *testing.T) { // f-op, -success, -links
	w := newSite(t, Options{})
	for _, id := range []string{"FJ", "a/b c?#%", "é☃", "..x"} {
		if id != "FJ" {
			w.put("countries", store.Feature{ID: id, Geometry: orb.Point{1, 2}})
		}
		p := w.page(countries + "/items?limit=100")
		if !slices.Contains(p.ids(), id) {
			t.Errorf("%q is not among %q", id, p.ids())
		}
		doc := w.json(w.at1(id))
		if doc["type"] != "Feature" || doc["id"] != id {
			t.Errorf("%v", doc)
		}
		wantRels(t, doc, "self "+typeGeoJSON, "alternate text/html", "collection application/json")
		for _, l := range w.links(w.at1(id)) {
			if a := w.get(l.Href); a.StatusCode != http.StatusOK {
				t.Errorf("%q: %v: %s", id, l, a.Status)
			}
		}
	}
}

// A slash in an id is escaped in links, but need not be in requests.
func TestSlashInID(t *testing.T) {
	w := newSite(t, Options{})
	w.put("countries", store.Feature{ID: "node/5/x y"})
	for _, target := range []string{countries + "/items/node%2F5%2Fx%20y", countries + "/items/node/5/x%20y"} {
		if doc := w.json(target); doc["id"] != "node/5/x y" || href(w.links(target), "self", "") != w.at1("node/5/x y") {
			t.Errorf("%s: %v", target, doc)
		}
	}
	for _, target := range []string{countries + "/items/", countries + "/items/node/5", countries + "/items/FJ/"} {
		w.problem(w.get(target), http.StatusNotFound)
	}
}

// at1 is the address of a feature of countries.
func (w *site) at1(id string) string {
	q := request{Server: w.Server}
	q.o.URL = "http://example.com"
	return q.at("", "collections", "countries", "items", id)
}

func TestATS_geojson_definition(t *testing.T) {
	w := newSite(t, Options{})
	for _, target := range []string{countries + "/items", countries + "/items/FJ"} {
		for _, accept := range []string{"application/geo+json", "application/json", "*/*", "application/*", "text/html;q=0.5, application/geo+json"} {
			if a := w.get(target, "Accept: "+accept); a.Header.Get("Content-Type") != typeGeoJSON {
				t.Errorf("%s, Accept %s: %s", target, accept, a.Header.Get("Content-Type"))
			}
		}
		// Of equal qualities the first wins.
		for accept, want := range map[string]string{"application/geo+json, text/html": typeGeoJSON, "text/html, application/geo+json": typeHTML} {
			if a := w.get(target, "Accept: "+accept); !strings.HasPrefix(a.Header.Get("Content-Type"), want) {
				t.Errorf("%s, Accept %s: %s", target, accept, a.Header.Get("Content-Type"))
			}
		}
		for _, accept := range []string{"image/png", "application/xml;q=1", "*/*;q=0", "text/html;q=2", "nonsense"} {
			w.problem(w.get(target, "Accept: "+accept), http.StatusNotAcceptable)
		}
	}
}

// The loaded features are served: each country, decoded and encoded again.
func TestATS_geojson_content(t *testing.T) {
	text, err := os.ReadFile("../../datasets/testdata/countries.geojson")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Features []json.RawMessage }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range file.Features {
		d, err := feature.Decode(f, feature.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := feature.Append(nil, d.Geometry, d.Properties)
		if err != nil {
			t.Fatal(err)
		}
		v, err := feature.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ ID string }
		if err := json.Unmarshal(d.Properties, &p); err != nil {
			t.Fatal(err)
		}
		want[p.ID] = string(v.AppendGeometryJSON(nil))
	}
	w := newSite(t, Options{})
	p := w.page(countries + "/items?limit=100")
	if len(p.Features) != len(want) {
		t.Errorf("%d features, want %d", len(p.Features), len(want))
	}
	for _, f := range p.Features {
		var one struct{ Geometry json.RawMessage }
		if err := json.Unmarshal(w.get(w.at1(f.ID)).body, &one); err != nil {
			t.Fatal(err)
		}
		if string(f.Geometry) != want[f.ID] || string(one.Geometry) != want[f.ID] {
			t.Errorf("%s: %.100s, alone %.100s, want %.100s", f.ID, f.Geometry, one.Geometry, want[f.ID])
		}
		if f.Type != "Feature" {
			t.Errorf("%s is a %q", f.ID, f.Type)
		}
	}
}

func TestATS_html(t *testing.T) { // definition and content
	w := newSite(t, Options{})
	w.put("countries", store.Feature{ID: "<script>alert(1)</script>", Properties: json.RawMessage(`{"x":"<b>\"'"}`)})
	for _, target := range []string{"/", "/conformance", "/api", "/collections", countries, countries + "/schema", countries + "/queryables", countries + "/items?limit=100",
		"/collections/empty/items", countries + "/items/FJ", w.at1("<script>alert(1)</script>")} {
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		for _, a := range []answer{w.get(target + sep + "f=html"), w.get(target, "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")} {
			body := string(a.body)
			if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(body, "<!DOCTYPE html>") ||
				!strings.Contains(body, `lang="en"`) || !strings.Contains(body, "</html>") || strings.Contains(body, "<script>") ||
				!strings.Contains(body, "This as JSON") || a.Header.Get("Content-Security-Policy") == "" {
				t.Errorf("%s: %s, %v: %.3000s", target, a.Status, a.Header, body)
			}
		}
	}
}
