package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// Filters combined with all other parameters.
func TestFilter(t *testing.T) {
	w := newSite(t, Options{})
	w.points(40)
	w.put("empty", store.Feature{ID: "nowhere", Properties: json.RawMessage(`{"x":1}`)})
	for _, c := range []struct{ filter, more, want string }{
		{"n < 3", "", "p000 p001 p002"},
		{"n < 3", "&even=true", "p000 p002"},
		{"n < 3 OR n = 39", "&even=false", "p001 p039"},
		{"n < 3 OR n = 39", "&datetime=1970-01-02/..", "p001 p002 p039"},
		{"n < 5", "&bbox=-178.5,0,-170,90", "p002 p003 p004"},
		{"S_INTERSECTS(geometry, BBOX(-180,0,-177.5,90))", "", "p000 p001 p002"},
		{"S_INTERSECTS(geometry, BBOX(-180,0,-177.5,90))", "&bbox=-178.5,0,-170,90", "p002"}, // two areas
		{"S_INTERSECTS(geometry, BBOX(-180,0,-177.5,90)) AND S_DISJOINT(geometry, BBOX(-179.5,0,-178.5,90)) AND n <> 2", "", "p000"},
		{"S_INTERSECTS(geometry, BBOX(-180,0,-178.5,90)) OR n = 9", "", "p000 p001 p009"},
		{"NOT S_INTERSECTS(geometry, BBOX(-178.5,0,180,90))", "", "p001"},
		{`"addr:city" = 'A"b' AND name LIKE 'point 1_'`, "&bbox=-170.5,0,-168.5,90", "p010 p011"},
		{"datetime >= DATE('1970-02-08')", "", "p038 p039"},
		{"n > 100", "", ""},
		{"n IS NULL", "", "nowhere"},
		{"n IS NULL OR NOT S_INTERSECTS(geometry, BBOX(-178.5,0,180,90))", "", "nowhere p001"},
	} {
		for _, also := range []string{"", "&numberMatched=false", "&limit=1", "&limit=2&numberMatched=false", "&filter-lang=cql2-text"} {
			target := empty + "?filter=" + url.QueryEscape(c.filter) + c.more + also
			ids, _ := w.walk(target)
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("%s%s%s: %s, want %s", c.filter, c.more, also, got, c.want)
			}
			p := w.page(target)
			if counted := !strings.Contains(also, "false"); counted != (p.NumberMatched != nil) || counted && *p.NumberMatched != len(strings.Fields(c.want)) {
				t.Errorf("%s%s%s: numberMatched %v", c.filter, c.more, also, p.NumberMatched)
			}
		}
	}
	for query, column := range map[string]int{
		"filter=n+%3D": 4, "filter=colour=1": 1, "filter=n=1+and+S_TOUCHES(geometry,POINT(1+2))": 9,
		"filter=n=1&filter-lang=cql-text": 0, "filter=n=1&filter-lang=": 0, "filter=n=1&filter-lang=cql2-json": 2, "filter=n=1&filter-crs=EPSG:4326": 0, "filter=": 1,
	} {
		p := w.problem(w.get(empty+"?"+query), http.StatusBadRequest)
		if !strings.HasPrefix(p.Parameter, "filter") || p.Column != column {
			t.Errorf("%s: %+v, want column %d", query, p, column)
		}
	}
	// A filter may be too long for package filter.
	long := "n = 1" + strings.Repeat(" OR name = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", 100)
	w.problem(w.get(empty+"?filter="+url.QueryEscape(long)), http.StatusBadRequest)
}

// The same filters as JSON, on all pages.
func TestFilterJSON(t *testing.T) {
	w := newSite(t, Options{})
	w.points(40)
	for filter, want := range map[string]string{
		`{"op":"<","args":[{"property":"n"},2]}`: "p000 p001",
		`{"op":"or","args":[{"op":"=","args":[{"property":"n"},9]},{"op":"s_intersects","args":[{"property":"geometry"},{"bbox":[-180,0,-178.5,90]}]}]}`: "p000 p001 p009",
		`{"op":"like","args":[{"op":"casei","args":[{"property":"name"}]},{"op":"casei","args":["POINT 1_"]}]}`:                                          "p010 p011 p012 p013 p014 p015 p016 p017 p018 p019",
		`{"op":"t_before","args":[{"property":"datetime"},{"date":"1970-01-03"}]}`:                                                                       "p000 p001",
	} {
		for _, also := range []string{"", "&numberMatched=false", "&limit=1"} {
			ids, _ := w.walk(empty + "?filter-lang=cql2-json&filter=" + url.QueryEscape(filter) + also)
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%s%s: %s, want %s", filter, also, got, want)
			}
		}
	}
	for filter, pointer := range map[string]string{
		`{"op":"and","args":[true,{"op":"=","args":[{"property":"colour"},1]}]}`: "/args/1/args/0", `{"op":"+","args":[]}`: "/op", `5`: "",
	} {
		p := w.problem(w.get(empty+"?filter-lang=cql2-json&filter="+url.QueryEscape(filter)), http.StatusBadRequest)
		if p.Parameter != "filter" || p.Pointer != pointer || p.Column != 0 || !strings.Contains(p.Detail, pointer) {
			t.Errorf("%s: %+v, want %s", filter, p, pointer)
		}
	}
}

// Values inside objects and lists, and names with dots and colons.
func TestFilterNested(t *testing.T) {
	w := newSite(t, Options{})
	for id, properties := range map[string]string{
		"graz": `{"addr":{"city":"Graz","geo":{"lat":47}},"tags":["vegan","bar"]}`,
		"wien": `{"addr":{"city":"Wien"},"tags":["vegan"],"a.b":1,"addr:city":"Wien"}`,
		"none": `{"tags":null,"a":{"b":1}}`,
	} {
		w.put("empty", store.Feature{ID: id, Properties: json.RawMessage(properties)})
	}
	for filter, want := range map[string]string{
		`addr.city='Graz'`:                              "graz",
		`"addr.city"='Graz'`:                            "graz",
		`addr.geo.lat > 40`:                             "graz",
		`"addr:city"='Wien'`:                            "wien",
		`a.b = 1`:                                       "none wien", // One feature has an object, another a name with the dot.
		`addr.city IS NULL`:                             "none",
		`A_CONTAINS(tags,('vegan'))`:                    "graz wien",
		`NOT A_CONTAINS(tags,('bar'))`:                  "wien",
		`A_EQUALS(tags,('bar','vegan'))`:                "graz",
		`A_CONTAINEDBY(tags,('vegan','x'))`:             "wien",
		`A_OVERLAPS(tags,('bar','x')) OR a.b = 1`:       "graz none wien",
		`CASEI(addr.city) LIKE CASEI('W%') AND a.b = 1`: "wien",
	} {
		ids, _ := w.walk(empty + "?filter=" + url.QueryEscape(filter))
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
	// A feature with a property of that name changes nothing for the others.
	w.put("empty", store.Feature{ID: "flat", Properties: json.RawMessage(`{"addr.city":"Linz","addr":{"city":"Graz"}}`)})
	for filter, want := range map[string]string{
		`addr.city = 'Graz'`: "graz", `addr.city = 'Linz'`: "flat", `addr.city <> 'Graz'`: "flat wien", `addr.city IS NULL`: "none",
	} {
		ids, _ := w.walk(empty + "?filter=" + url.QueryEscape(filter))
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
	for filter, want := range map[string]string{
		`adr.city='Graz'`: `property "adr.city" is unknown`, `tgas IS NULL`: `did you mean "tags"?`, `tags.x = 1`: `"tags" is no object`,
	} {
		if p := w.problem(w.get(empty+"?filter="+url.QueryEscape(filter)), http.StatusBadRequest); p.Column != 1 || !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %+v, want %s", filter, p, want)
		}
	}
}

// A filter that costs too much for a feature is an error, and skips no feature.
func TestFilterCost(t *testing.T) {
	w := newSite(t, Options{})
	w.put("empty", store.Feature{ID: "ok", Properties: json.RawMessage(`{"s":"b"}`)})
	w.put("empty", store.Feature{ID: "long", Properties: json.RawMessage(`{"s":"` + strings.Repeat("a", 20_000) + `"}`)})
	slow := url.QueryEscape("s LIKE '" + strings.Repeat("%a_", 35) + "b'")
	p := w.problem(w.get(empty+"?filter="+slow), http.StatusBadRequest)
	if !strings.Contains(p.Detail, "100000 units") || !strings.Contains(p.Detail, `"long"`) {
		t.Errorf("%+v", p)
	}
}

func TestQueryables(t *testing.T) {
	w := newSite(t, Options{})
	w.points(2)
	doc := w.json("/collections/empty/queryables")
	properties := doc["properties"].(map[string]any)
	for name, want := range map[string]string{"n": "number", "even": "boolean", "name": "string"} {
		if got := properties[name].(map[string]any)["type"]; got != want {
			t.Errorf("%s is %v, want %s", name, got, want)
		}
	}
	if len(properties) != 7 || properties["geometry"] == nil || doc["$id"] != "http://example.com/collections/empty/queryables" {
		t.Errorf("%v", doc)
	}
}
