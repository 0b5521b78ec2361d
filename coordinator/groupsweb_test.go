package coordinator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/placement"
	files "github.com/catfish-index/catfish/internal/places"
)

// groupsAndAlone starts groups a and b, which have one store, and a server that has the same alone.
// Group a has more members, as named.
func groupsAndAlone(t *testing.T, more ...string) (members map[string]*member, alone *member) {
	t.Helper()
	members, alone, _ = groupsAndAloneAt(t, more...)
	return members, alone
}

func groupsAndAloneAt(t *testing.T, more ...string) (members map[string]*member, alone *member, registry *coord.Client) {
	t.Helper()
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	registry = dial(t, c.Addr())
	if _, err := groupmap.Init(t.Context(), registry, []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	members = map[string]*member{}
	for name, m := range inGroupOf(t, c.Addr(), "a", append([]string{"n1"}, more...)...) {
		members["a/"+name] = m
	}
	for name, m := range inGroupOf(t, c.Addr(), "b", "n1") {
		members["b/"+name] = m
	}
	alone = startHere(t, memberOf{Dir: filepath.Join(t.TempDir(), "data"), set: func(o *daemon.Options) { o.Group = daemon.Group{} }})
	catfishtest.Eventually(t, "all members of a are in sync", func() bool { return len(groupNamed(t, registry, "a").InSync) == 1+len(more) })
	return members, alone, registry
}

// andorra is lines of GeoJSON.
func andorra(t *testing.T, most int) []byte {
	t.Helper()
	r, err := files.Open("../datasets/testdata/andorra.osm.pbf", files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b []byte
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		g, err := feature.Normalise(p.Geometry, feature.Options{Space: feature.Geographic})
		if err != nil {
			continue // Two or three rings cross themselves.
		}
		value, err := feature.Append(nil, g, p.Properties)
		if err != nil {
			t.Fatal(err)
		}
		v, err := feature.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		b = append(v.AppendGeoJSONOf(b, []byte(p.ID)), '\n')
		if most--; most == 0 {
			break
		}
	}
	return b
}

// asked is an answer without what differs between servers.
type asked struct {
	status int
	header string
	body   string
}

var differs = regexp.MustCompile(`"timeStamp":"[^"]*"|"revision":[0-9]+|revision [0-9]+`)

func ask(t *testing.T, m *member, method, path, mediaType, body string) asked {
	t.Helper()
	base := "http://" + m.at.HTTP
	r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := differs.ReplaceAllString(strings.ReplaceAll(string(b), base, ""), `"differs":0`)
	return asked{a.StatusCode, a.Header.Get("Content-Type") + a.Header.Get("Catfish-Sampled"), text}
}

func get(t *testing.T, m *member, path string) asked {
	t.Helper()
	return ask(t, m, "GET", path, "", "")
}

// pages are all pages from a path on.
func pages(t *testing.T, m *member, path string) (all []asked) {
	t.Helper()
	for path != "" {
		a := get(t, m, path)
		all = append(all, a)
		path = nextOf(t, a)
	}
	return all
}

// nextOf is the path of the next page; empty: there is none.
func nextOf(t *testing.T, a asked) string {
	t.Helper()
	var page struct{ Links []struct{ Rel, Href string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Errorf("%v: %.300s", err, a.body)
	}
	for _, l := range page.Links {
		if l.Rel == "next" {
			return l.Href
		}
	}
	return ""
}

// differ reports the first difference of two answers.
func differ(t *testing.T, what string, got, want asked) {
	t.Helper()
	if got == want {
		return
	}
	i := 0
	for i < min(len(got.body), len(want.body)) && got.body[i] == want.body[i] {
		i++
	}
	from := max(0, i-100)
	t.Errorf("%s: %d %s, %d bytes, want %d %s, %d bytes; at %d\n %.300q\n %.300q", what, got.status, got.header, len(got.body),
		want.status, want.header, len(want.body), i, got.body[from:], want.body[from:])
}

// Each member of two groups answers over HTTP as one server would that has all.
func TestGroupsHTTP(t *testing.T) {
	t.Parallel()
	members, alone := groupsAndAlone(t)
	lines := andorra(t, 12_000)
	for _, m := range []*member{members["a/n1"], alone} {
		if a := ask(t, m, "PUT", "/collections/places", "application/json", `{"title":"Places"}`); a.status != http.StatusCreated {
			t.Fatal(a)
		}
	}
	// Each member stores a part.
	half := bytes.SplitAfter(lines, []byte("\n"))
	for i, name := range []string{"a/n1", "b/n1"} {
		body := string(bytes.Join(half[i*6000:min(len(half), (i+1)*6000)], nil))
		for _, m := range []*member{members[name], alone} {
			if a := ask(t, m, "POST", "/collections/places/items", "application/x-ndjson", body); a.status != http.StatusOK || !strings.Contains(a.body, "6000") {
				t.Fatal(name, a)
			}
		}
	}
	where := func(s string) string { return url.QueryEscape(s) }
	paths := []string{
		"/collections", "/collections/places", "/collections/places?f=html", "/collections/places/schema", "/collections/places/queryables",
		"/collections/places/items?limit=3&f=html", "/collections/places/tiles", "/collections/places/tiles/tiles.json",
		"/collections/none/items", "/collections/places/items/none", "/collections/places/items?filter=nothing%3D1", "/collections/places/items?unknown=1",
		"/collections/places/items?limit=10000&numberMatched=true",
		"/collections/places/items?limit=50&numberMatched=true&bbox=1.5,42.5,1.55,42.55",
		"/collections/places/items?limit=50&numberMatched=true&highway=residential",
		"/collections/places/items?numberMatched=true&filter=" + where(`name LIKE 'C%' AND S_INTERSECTS(geometry, POLYGON((1.4 42.4, 1.6 42.4, 1.6 42.6, 1.4 42.4)))`),
		"/collections/places/items?numberMatched=true&filter-lang=cql2-json&filter=" + where(`{"op":"=","args":[{"property":"highway"},"service"]}`),
		"/collections/places/nearest?point=1.52,42.507&limit=40", "/collections/places/nearest?point=1.52,42.507&max=300&limit=1000&filter=" + where("highway IS NOT NULL"),
		"/collections/places/counts?zoom=12", "/collections/places/counts?zoom=13&bbox=1.45,42.45,1.6,42.6&filter=" + where("highway IS NOT NULL"),
		"/collections/places/tiles/3/4/2.mvt?filter=" + where("name LIKE 'C%'"), "/collections/places/tiles/12/2065/1513.mvt?properties=name",
	}
	for z := range 17 {
		n := float64(int(1) << z)
		paths = append(paths, fmt.Sprintf("/collections/places/tiles/%d/%d/%d.mvt", z, int((1.5218+180)/360*n), int(0.369448*n)))
	}
	if a := get(t, alone, "/collections/places/tiles/8/129/94.mvt"); !strings.Contains(a.body, "point_count") {
		t.Fatal("no tile has clusters: ", a.status)
	}
	for name, m := range members {
		for _, path := range paths {
			differ(t, name+" "+path, get(t, m, path), get(t, alone, path))
		}
		for _, path := range []string{
			"/collections/places/items?limit=997&numberMatched=true", "/collections/places/items?limit=100&numberMatched=true&bbox=1.5,42.45,1.6,42.55",
			"/collections/places/items?limit=20&numberMatched=true&filter=" + where("tourism = 'hotel'"),
		} {
			got, want := pages(t, m, path), pages(t, alone, path)
			if len(got) != len(want) || len(want) < 2 {
				t.Fatalf("%s %s: %d pages, want %d", name, path, len(got), len(want))
			}
			for i := range got {
				differ(t, fmt.Sprintf("%s %s page %d", name, path, i), got[i], want[i])
			}
		}
	}
	changes(t, members, alone)
}

// changes makes the same writes by id and by condition at each member and alone, and compares.
func changes(t *testing.T, members map[string]*member, alone *member) {
	t.Helper()
	const json, merge = "application/geo+json", "application/merge-patch+json"
	at := func(n int) string {
		return fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[2,%d]},"properties":{"n":%d}}`, n, n)
	}
	n := 0
	for name, m := range members {
		for range 4 {
			n++
			id := fmt.Sprintf("/collections/places/items/new-%d", n)
			for _, w := range []struct{ method, path, mediaType, body string }{
				{"PUT", id, json, at(n)}, {"PUT", id, json, at(n + 1)}, {"PATCH", id, merge, `{"properties":{"more":true}}`}, {"GET", id, "", ""},
				{"PATCH", id + "-none", merge, `{"properties":null}`}, {"PUT", id, json, `{"type":"Feature"}`},
				{"POST", "/collections/places/items", json, strings.Replace(at(n), "{", fmt.Sprintf(`{"id":"posted-%d",`, n), 1)},
				{"POST", "/collections/places/items", json, strings.Replace(at(n), "{", fmt.Sprintf(`{"id":"posted-%d",`, n), 1)},
				{"DELETE", id, "", ""}, {"DELETE", id, "", ""}, {"GET", id, "", ""},
			} {
				differ(t, fmt.Sprintf("%s %s %s", name, w.method, w.path), ask(t, m, w.method, w.path, w.mediaType, w.body), ask(t, alone, w.method, w.path, w.mediaType, w.body))
			}
		}
		// A condition on a revision is of the group that has the id.
		path := fmt.Sprintf("/collections/places/items/posted-%d", n)
		tag := etagOf(t, m, path)
		if !strings.Contains(tag, ".") {
			t.Errorf("%s: the tag %s names no group", name, tag)
		}
		if status := conditional(t, m, path, strings.Split(tag, ".")[0]+`.9"`, at(0)); status != http.StatusPreconditionFailed {
			t.Errorf("%s: the same revision of another group: %d", name, status)
		}
		if status := conditional(t, m, path, `"r1"`, at(0)); status != http.StatusPreconditionFailed {
			t.Errorf("%s: another revision: %d", name, status)
		}
		if status := conditional(t, m, path, tag, at(0)); status != http.StatusNoContent {
			t.Errorf("%s: the present revision %s: %d", name, tag, status)
		}
		ask(t, alone, "PUT", path, json, at(0))
		where := "/collections/places/items?filter=" + url.QueryEscape("n >= 0")
		const counted = "&numberMatched=true"
		differ(t, name+" what was posted", get(t, m, where+counted), get(t, alone, where+counted))
		differ(t, name+" deletes", ask(t, m, "DELETE", where, "", ""), ask(t, alone, "DELETE", where, "", ""))
		differ(t, name+" is left", get(t, m, where+counted), get(t, alone, where+counted))
		for _, w := range [][2]string{
			{"POST", `{"id":"more"}`}, {"POST", `{"id":"more"}`}, {"PUT", `{"title":"More"}`}, {"PATCH", `{"description":"of them"}`}, {"GET", ""}, {"DELETE", ""}, {"DELETE", ""}, {"GET", ""},
		} {
			path, mediaType := "/collections/more", "application/json"
			switch w[0] {
			case "POST":
				path = "/collections"
			case "PATCH":
				mediaType = merge
			}
			differ(t, name+" "+w[0]+" collection", ask(t, m, w[0], path, mediaType, w[1]), ask(t, alone, w[0], path, mediaType, w[1]))
		}
	}
}

func etagOf(t *testing.T, m *member, path string) string {
	t.Helper()
	a, err := http.Get("http://" + m.at.HTTP + path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	return a.Header.Get("ETag")
}

func conditional(t *testing.T, m *member, path, tag, body string) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+m.at.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/geo+json")
	r.Header.Set("If-Match", tag)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	return a.StatusCode
}

// A secondary of one of the groups answers as the primaries do, also when it has become one.
func TestGroupsSecondary(t *testing.T) {
	t.Parallel()
	members, _ := groupsAndAlone(t, "n2")
	second, other := members["a/n2"], members["b/n1"]
	eventually := func(what string, m *member, method, path, body, want string) {
		t.Helper()
		catfishtest.Eventually(t, what, func() bool {
			a := ask(t, m, method, path, "application/geo+json", body)
			return a.status < 300 && strings.Contains(a.body, want)
		})
	}
	catfishtest.Eventually(t, "the collection", func() bool {
		return ask(t, second, "PUT", "/collections/places", "application/json", `{}`).status < 300
	})
	put := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			m := []*member{second, other}[i%2]
			eventually("a write", m, "PUT", fmt.Sprintf("/collections/places/items/%d", i), `{"type":"Feature","geometry":null,"properties":{"even":`+fmt.Sprint(i%2 == 0)+"}}", "")
		}
	}
	const page = "/collections/places/items?limit=1000&numberMatched=true&filter=even%3DTRUE"
	put(0, 40)
	eventually("20 places at the secondary", second, "GET", page, "", `"numberMatched":20,"numberReturned":20`)
	members["a/n1"].close() // hands over
	put(40, 60)
	eventually("30 places at the new primary", second, "GET", page, "", `"numberMatched":30,"numberReturned":30`)
	eventually("30 places at the other group", other, "GET", page, "", `"numberMatched":30,"numberReturned":30`)
}
