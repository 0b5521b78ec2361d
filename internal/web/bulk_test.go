package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/store"
)

const (
	asNDJSON = "Content-Type: application/x-ndjson"
	asSeq    = "Content-Type: application/geo+json-seq"
	inLines  = "Accept: application/x-ndjson"
)

// withID is a feature as text.
func withID(id string, x, y float64) string {
	return strings.Replace(point(x, y, `{"a":"]}\"{\\"}`), "{", fmt.Sprintf(`{"id":%q,`, id), 1)
}

// forms are the forms of a body with many features.
var forms = []struct {
	name, header string
	text         func(features []string) string
}{
	{"collection", asGeoJSON, func(f []string) string {
		return `{"name":"x","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"type":"FeatureCollection","features":[` +
			strings.Join(f, ",\n") + `],"bbox":[1,2,3,4],"more":{"features":["}"]}}` + "\n"
	}},
	{"type last", asJSON, func(f []string) string {
		return ` { "features" : [ ` + strings.Join(f, " , ") + ` ] , "x" : 5 , "type" : "FeatureCollection" } `
	}},
	{"lines", asNDJSON, func(f []string) string { return strings.Join(f, "\n") }},
	{"blank lines", asNDJSON, func(f []string) string { return "\n\r\n" + strings.Join(f, "\r\n \n") + "\n\n" }},
	{"sequence", asSeq, func(f []string) string { return "\x1e" + strings.Join(f, "\n\x1e") + "\n" }},
}

// Each form of body, as a document and by lines: new, replaced, and bad features.
func TestUpload(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			w := newSite(t, Options{})
			w.put("empty", store.Feature{ID: "there"})
			bad := strings.Replace(withID("far", 1, 2), "[1,2]", "[1,95]", 1)
			features := []string{withID("a", 1, 2), withID("there", 3, 4), bad, withID("a", 5, 6), point(7, 8, "{}"), "[7]"}
			a := w.must(w.do("POST", empty, form.text(features), form.header), http.StatusOK)
			var got uploaded
			if err := json.Unmarshal(a.body, &got); err != nil || a.Header.Get("Content-Type") != typeJSON {
				t.Fatalf("%v: %s", err, a.body)
			}
			if got.Received != 6 || got.Created != 2 || got.Replaced != 2 || got.Rejected != 2 || len(got.Errors) != 2 {
				t.Errorf("%+v", got)
			}
			if e := got.Errors; len(e) == 2 && (e[0].Index != 2 || !strings.Contains(e[0].Error, "latitude 95") || e[1].Index != 5 || !strings.Contains(e[1].Error, "object")) {
				t.Errorf("%+v", e)
			}
			p := w.page(empty + "?limit=100")
			if len(p.Features) != 3 || string(p.Features[1].Geometry) != `{"type":"Point","coordinates":[3,4]}` && string(p.Features[2].Geometry) != `{"type":"Point","coordinates":[3,4]}` {
				t.Errorf("%+v", p.Features)
			}
			for _, f := range p.Features {
				if f.ID == "a" && (string(f.Geometry) != `{"type":"Point","coordinates":[5,6]}` || f.Properties["a"] != `]}"{\`) {
					t.Errorf("%+v", f)
				}
			}

			a = w.must(w.do("POST", empty, form.text(features), form.header, inLines), http.StatusOK)
			lines := strings.Split(strings.TrimSuffix(string(a.body), "\n"), "\n")
			if a.Header.Get("Content-Type") != typeNDJSON || len(lines) != 7 {
				t.Fatalf("%v %s", a.Header, a.body)
			}
			for i, want := range []string{"replaced", "replaced", "error", "replaced", "created", "error"} {
				var l struct {
					Index             int
					ID, Status, Error string
					Revision          uint64
				}
				if err := json.Unmarshal([]byte(lines[i]), &l); err != nil || l.Index != i || l.Status != want ||
					(l.Revision == 0) != (want == "error") || (l.Error == "") == (want == "error") || l.ID == "" && want != "error" {
					t.Errorf("line %d, %v: %s, want %s", i, err, lines[i], want)
				}
				if l.Status == "created" && l.ID != "" {
					w.must(w.get(empty+"/"+l.ID), http.StatusOK)
				}
			}
			if want := `{"received":6,"created":1,"replaced":3,"rejected":2}`; lines[6] != want {
				t.Errorf("%s, want %s", lines[6], want)
			}
			// Reading a few bytes at a time gives the same result.
			text := form.text([]string{withID("a", 1, 2), withID("there", 3, 4)})
			for _, size := range []int{1, 3} {
				s := splitter{from: &pieces{[]byte(text), size}, most: 1000, hold: func(int) error { return nil }}
				if n, err := countTexts(&s, form.header); n != 2 || err != nil {
					t.Errorf("by %d bytes: %d features, %v", size, n, err)
				}
			}
		})
	}
}

// pieces is a reader of a few bytes at a time.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), p.size)], p.left)
	p.left = p.left[n:]
	return n, eofIf(n == 0)
}

// An empty collection is no error, and a Feature may have a member features.
func TestUploadEmptyAndSingle(t *testing.T) {
	w := newSite(t, Options{})
	for _, c := range []struct{ text, header string }{
		{`{"type":"FeatureCollection","features":[]}`, asGeoJSON}, {``, asNDJSON}, {"\n\n", asNDJSON}, {"\x1e", asSeq},
	} {
		a := w.must(w.do("POST", empty, c.text, c.header), http.StatusOK)
		if string(a.body) != `{"received":0,"created":0,"replaced":0,"rejected":0}`+"\n" {
			t.Errorf("%q: %s", c.text, a.body)
		}
	}
	w.must(w.do("POST", empty, `{"type":"Feature","features":[1],"geometry":null,"properties":null}`, asGeoJSON), http.StatusCreated)
	w.must(w.do("POST", empty, withID("one", 1, 2), asNDJSON), http.StatusOK)
}

// What ends an upload, or would store nothing, is a problem that says what was stored.
func TestBadUploads(t *testing.T) {
	w := newSite(t, Options{MaxBodyBytes: 1000})
	good, bad := withID("ok", 1, 2), `{"type":"Point"}`
	long := withID("long", 1, 2)[:40] + strings.Repeat(" ", 1000) + withID("long", 1, 2)[40:]
	in := func(f string) string { return `{"type":"FeatureCollection","features":[` + f + `]}` }
	for _, c := range []struct {
		name, text, header string
		status             int
		says               string
		received, stored   int
	}{
		{"none is good", bad + "\n" + bad, asNDJSON, 422, "nothing was stored", 2, 0},
		{"cut", in(good)[:70], asGeoJSON, 400, "ends before", 0, 0},
		{"cut after a feature", strings.TrimSuffix(in(good), "]}"), asGeoJSON, 400, "ends before", 1, 1},
		{"cut before the end", strings.TrimSuffix(in(good), "}"), asGeoJSON, 400, "ends before", 1, 1},
		{"no comma", in(good + good), asGeoJSON, 400, "a comma", 1, 1},
		{"two commas", in(good + ",," + good), asGeoJSON, 400, "want a value", 1, 1},
		{"a comma at the end", in(good + ","), asGeoJSON, 400, "want a value", 1, 1},
		{"more after it", in(good) + "{}", asGeoJSON, 400, "the end of the body", 1, 1},
		{"of another type", strings.Replace(in(good), `"type":"FeatureCollection",`, ``, 1), asGeoJSON, 400, `type is ""`, 1, 1},
		{"of two types", strings.TrimSuffix(in(good), "}") + `,"type":"Topology"}`, asGeoJSON, 400, `"Topology"`, 1, 1},
		{"no member", strings.TrimSuffix(in(good), "}") + ",5}", asGeoJSON, 400, "the name of a member", 1, 1},
		{"another crs", strings.Replace(in(good), `{`, `{"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::31287"}},`, 1), asGeoJSON, 400, "ogr2ogr -t_srs EPSG:4326", 0, 0},
		{"another crs, later", strings.TrimSuffix(in(good), "}") + `,"crs":{"properties":{"name":"EPSG:3857"}}}`, asGeoJSON, 400, "EPSG:3857", 1, 1},
		{"too long, alone", long, asGeoJSON, 413, "1000", 0, 0},
		{"too long, in a collection", in(good + "," + long), asGeoJSON, 413, "feature 1", 1, 1},
	} {
		p := w.problem(w.do("POST", empty, c.text, c.header), c.status)
		var u uploaded
		if p.Uploaded != nil {
			u = *p.Uploaded
		}
		if !strings.Contains(p.Detail, c.says) || c.received > 0 && (u.Received != c.received || u.Created+u.Replaced != c.stored) {
			t.Errorf("%s: %s, %+v, want %q", c.name, p.Detail, u, c.says)
		}
		if told := strings.Contains(p.Detail, "1 features were stored before, and stay"); told != (c.stored > 0) {
			t.Errorf("%s: %s", c.name, p.Detail)
		}
	}
	// A client of lines that gets no lines gets the reasons as well.
	res := w.do("POST", empty, bad, asNDJSON, "Accept: application/x-ndjson")
	if p := w.problem(res, 422); p.Uploaded == nil || len(p.Uploaded.Errors) != 1 {
		t.Errorf("%+v", p)
	}
	// A line that is too long is one bad feature, and the next line is good.
	for _, sep := range []string{"\n", "\x1e"} {
		a := w.must(w.do("POST", empty, strings.Join([]string{good, long, strings.Repeat("x", 5*fullRead), good}, sep), map[string]string{"\n": asNDJSON, "\x1e": asSeq}[sep]), http.StatusOK)
		var u uploaded
		if err := json.Unmarshal(a.body, &u); err != nil || u.Replaced != 2 || u.Rejected != 2 || !strings.Contains(u.Errors[0].Error, "more than 1000 bytes") {
			t.Errorf("%v: %s", err, a.body)
		}
	}
	// When lines were sent, the last line reports the error.
	a := w.must(w.do("POST", empty, strings.TrimSuffix(in(good), "}"), asGeoJSON, inLines), http.StatusOK)
	lines := bytes.Split(bytes.TrimSpace(a.body), []byte("\n"))
	var last struct {
		uploaded
		Problem *problem
	}
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || len(lines) != 2 || last.Replaced != 1 || last.Problem == nil || last.Problem.Status != 400 {
		t.Errorf("%v: %s", err, a.body)
	}
	w.problem(w.do("POST", empty, "x", "Content-Type: text/csv"), http.StatusUnsupportedMediaType)
	p := w.problem(w.do("POST", empty, "x", asNDJSON, "Content-Encoding: gzip"), http.StatusUnsupportedMediaType)
	if !strings.Contains(p.Detail, "gzip") {
		t.Error(p.Detail)
	}
}

// Features expire by parameter ttl, however they are written, and answers say when.
func TestTTL(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	w := newSite(t, Options{Now: func() time.Time { return now }})
	at := empty + "/a"
	expires := func(want any) {
		t.Helper()
		if has := w.json(at)["expires"]; has != want {
			t.Errorf("expires %v, want %v", has, want)
		}
	}
	after := func(d time.Duration) string { return now.Add(d).UTC().Format(time.RFC3339) }
	w.must(w.do("POST", empty+"?ttl=10m", withID("a", 1, 2), asGeoJSON), http.StatusCreated)
	expires(after(10 * time.Minute))
	w.must(w.do("PATCH", at, `{"properties":{"b":1}}`, asPatch), http.StatusNoContent)
	expires(after(10 * time.Minute))
	w.must(w.do("PATCH", at+"?ttl=1h", `{"properties":{"b":1}}`, asPatch), http.StatusNoContent)
	expires(after(time.Hour))
	w.must(w.do("PUT", at+"?ttl=90s", withID("a", 1, 2), asGeoJSON), http.StatusNoContent)
	expires(after(90 * time.Second))
	w.must(w.do("PUT", at, withID("a", 1, 2), asGeoJSON), http.StatusNoContent)
	expires(nil)
	w.must(w.do("POST", empty+"?ttl=24h", withID("a", 1, 2)+"\n"+withID("b", 1, 2), asNDJSON), http.StatusOK)
	expires(after(24 * time.Hour))
	for _, bad := range []string{"0s", "-1m", "10", "x", "", "300000h0m0s", "2540400h"} {
		if d, err := time.ParseDuration(bad); err == nil && d > 0 && d < 200*365*24*time.Hour {
			continue
		}
		if p := w.problem(w.do("PUT", at+"?ttl="+bad, withID("a", 1, 2), asGeoJSON), http.StatusBadRequest); p.Parameter != "ttl" || p.Value != bad {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	w.problem(w.do("DELETE", at+"?ttl=1s", ""), http.StatusBadRequest)
}

// DELETE of items deletes the features that match a condition, and nothing without one.
func TestDeleteWhere(t *testing.T) {
	w := newSite(t, Options{})
	w.points(100)
	w.put("empty", store.Feature{ID: "nowhere", Properties: json.RawMessage(`{"n":1000}`)})
	left := 101
	for _, c := range []struct {
		query string
		want  int // -1: 400
	}{
		{"", -1}, {"filter-lang=cql2-text", -1}, {"filter=", -1}, {"f=json", -1}, {"limit=5", -1}, {"colour=red", -1},
		{"datetime=2020-01-01", -1}, {"bbox=0,0,1", -1}, {"filter=colour%3D1", -1}, {"after=p001&n=3", -1},
		{"n=3", 1}, {"n=3", 0}, {"filter=n%3C10", 9}, {"bbox=-180,-90,-160,90", 11},
		{"filter=n%3C30+AND+even%3DTRUE", 4},
		{"filter=n%3D31+OR+S_INTERSECTS(geometry,BBOX(-148,-90,-146,90))", 4}, // more than a store's query can express
		{"bbox=-180,-90,180,90&filter=n%3E90", 9},
		{"filter=TRUE", -2}, // all
	} {
		a := w.do("DELETE", empty+"?"+c.query, "")
		if c.want == -1 {
			// It accepts the parameters that its error lists.
			p := w.problem(a, http.StatusBadRequest)
			if _, known, listed := strings.Cut(p.Detail, "want one of "); listed &&
				!strings.HasPrefix(known, "bbox, filter, filter-lang, filter-crs, or a property of the collection's features") {
				t.Errorf("%s: %s", c.query, p.Detail)
			}
			continue
		}
		if c.want == -2 {
			c.want = left
		}
		w.must(a, http.StatusOK)
		left -= c.want
		if got := w.page(empty); string(a.body) != fmt.Sprintf(`{"deleted":%d}`+"\n", c.want) || *got.NumberMatched != left {
			t.Errorf("%s: %s, %d are left, want %d and %d", c.query, a.body, *got.NumberMatched, c.want, left)
		}
	}
	w.problem(w.do("DELETE", "/collections/none/items?filter=TRUE", ""), http.StatusNotFound)
}

func eofIf(end bool) error {
	if end {
		return io.EOF
	}
	return nil
}

// countTexts cuts a stream.
func countTexts(s *splitter, header string) (n int, err error) {
	next := s.element
	switch header {
	case asNDJSON:
		next = func() ([]byte, error) { return s.upTo('\n') }
	case asSeq:
		next = func() ([]byte, error) { return s.upTo(recordSeparator) }
	default:
		if many, err := s.begin(); !many || err != nil {
			return 0, fmt.Errorf("no collection: %w", err)
		}
	}
	for {
		text, err := next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			n++
		}
	}
}
