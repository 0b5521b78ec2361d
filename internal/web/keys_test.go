package web

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/access"
)

func newRequest() *http.Request { return httptest.NewRequest(http.MethodGet, "/", http.NoBody) }

// testKeys is a file of keys, one for each role such as countries:read, and their
// texts.
func testKeys(t *testing.T, roles ...string) (*access.Keys, []string) {
	t.Helper()
	var entries []access.Entry
	for _, r := range roles {
		entries = append(entries, access.Entry{Roles: []string{r}})
	}
	return keysOf(t, entries...)
}

func keysOf(t *testing.T, entries ...access.Entry) (*access.Keys, []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	var texts []string
	for _, e := range entries {
		e, key, err := access.NewKey(e)
		if err == nil {
			err = access.Add(file, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, key)
	}
	keys, err := access.Open(file, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys, texts
}

func TestKeys(t *testing.T) {
	keys, k := testKeys(t, "countries:read", "countries:write", "*:read")
	w := newSite(t, Options{Keys: keys})
	f := point(1, 2, `{}`)
	for _, c := range []struct {
		method, target           string
		none, read, write, other int // status
		body, header             string
	}{
		{method: "GET", target: "/", none: 200, read: 200, write: 200, other: 200},
		{method: "GET", target: "/conformance", none: 200, read: 200, write: 200, other: 200},
		{method: "GET", target: "/api", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: "/collections", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries, none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/items", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/items/FJ", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/schema", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: "/tileMatrixSets", none: 200, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/tiles", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/tiles/WebMercatorQuad", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/tiles/tile.json", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/tiles/0/0/0.mvt", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/tiles/WebMercatorQuad/0/0/0", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: countries + "/counts?zoom=1", none: 401, read: 200, write: 200, other: 200},
		{method: "GET", target: emptyTiles + "0/0/0.mvt", none: 401, read: 403, write: 403, other: 204},
		{method: "GET", target: emptyTiles + "tile.json", none: 401, read: 403, write: 403, other: 200},
		{method: "GET", target: "/collections/empty/counts?zoom=1", none: 401, read: 403, write: 403, other: 200},
		{method: "GET", target: empty, none: 401, read: 403, write: 403, other: 200},
		{method: "GET", target: "/collections/none/items", none: 401, read: 403, write: 403, other: 404},
		{method: "POST", target: countries + "/items", none: 401, read: 403, write: 201, other: 403, body: f, header: asGeoJSON},
		{method: "PUT", target: countries + "/items/XX", none: 401, read: 403, write: 201, other: 403, body: f, header: asGeoJSON},
		{method: "PATCH", target: countries + "/items/XX", none: 401, read: 403, write: 204, other: 403, body: `{"properties":{}}`, header: asPatch},
		{method: "DELETE", target: countries + "/items/XX", none: 401, read: 403, write: 204, other: 403},
		{method: "POST", target: countries + "/items", none: 401, read: 403, write: 200, other: 403, body: f + "\n", header: asNDJSON},
		{method: "POST", target: countries + "/items", none: 401, read: 403, write: 200, other: 403, body: `{"type":"FeatureCollection","features":[]}`, header: asGeoJSON},
		{method: "DELETE", target: countries + "/items?filter=FALSE", none: 401, read: 403, write: 200, other: 403},
		{method: "DELETE", target: "/collections/none/items?filter=FALSE", none: 401, read: 403, write: 403, other: 403},
		{method: "POST", target: countries + "/events", none: 401, read: 400, write: 400, other: 400, body: `{}`, header: asJSON},
		{method: "POST", target: emptyEvents, none: 401, read: 403, write: 403, other: 400, body: `{}`, header: asJSON},
		{method: "POST", target: "/collections", none: 401, read: 403, write: 403, other: 403, body: `{"id":"new"}`, header: asJSON},
		{method: "PUT", target: countries, none: 401, read: 403, write: 403, other: 403, body: `{}`, header: asJSON},
		{method: "PATCH", target: countries, none: 401, read: 403, write: 403, other: 403, body: `{}`, header: asPatch},
		{method: "DELETE", target: countries, none: 401, read: 403, write: 403, other: 403},
	} {
		for i, want := range []int{c.none, c.read, c.write, c.other} {
			headers := []string{"X: y"}
			if c.header != "" {
				headers = append(headers, c.header)
			}
			if i > 0 {
				headers = append(headers, "Authorization: Bearer "+k[i-1])
			}
			a := w.do(c.method, c.target, c.body, headers...)
			if a.StatusCode != want {
				t.Errorf("%s %s with key %d: %s, want %d: %.200s", c.method, c.target, i, a.Status, want, a.body)
			}
			if want >= 400 {
				w.problem(a, want)
			}
			if want == 401 && len(a.Header.Values("WWW-Authenticate")) != 2 {
				t.Errorf("%v", a.Header)
			}
			for _, key := range k {
				if strings.Contains(string(a.body), key) {
					t.Errorf("an answer has a key: %s", a.body)
				}
			}
		}
	}
	list := string(w.get("/collections", "X-API-Key: "+k[0]).body) + string(w.get("/api", "X-API-Key: "+k[0]).body)
	if strings.Contains(list, "empty") || !strings.Contains(list, "countries") {
		t.Errorf("who may read countries sees %s", list)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("me:" + k[0]))
	for header, want := range map[string]int{
		"X-API-Key: " + k[0]: 200, "Authorization: bearer " + k[0]: 200, "Authorization: Basic " + basic: 200,
		"Authorization: Basic x": 401, "Authorization: Digest " + k[0]: 401, "Authorization: Bearer": 401,
		"X-API-Key: " + k[0] + "0": 401, "X-API-Key: x": 401,
	} {
		if a := w.get(countries, header); a.StatusCode != want {
			t.Errorf("%.30s: %s, want %d", header, a.Status, want)
		}
	}
}

func TestKeyRate(t *testing.T) {
	keys, k := keysOf(t, access.Entry{Roles: []string{"*:read"}, Rate: 1e-3, Burst: 2})
	w := newSite(t, Options{Keys: keys})
	for _, want := range []int{200, 200, 429} {
		a := w.get(countries, "X-API-Key: "+k[0])
		if a.StatusCode != want {
			t.Errorf("%s, want %d", a.Status, want)
		}
		if after := a.Header.Get("Retry-After"); want == 429 && after != "1000" {
			t.Errorf("Retry-After %q", after)
		}
	}
}

// Pages of other web sites may read what --http-cors allows, and write nothing else.
func TestCORS(t *testing.T) {
	for origin, want := range map[string]struct {
		allow string
		write int // from https://other.org
	}{"": {"", 403}, "https://mine.org": {"https://mine.org", 403}, "*": {"*", 201}} {
		w := newSite(t, Options{Origin: origin})
		post := func(site string) int {
			return w.do("POST", empty, point(1, 2, `{}`), asGeoJSON, "Origin: "+site, "Sec-Fetch-Site: cross-site").StatusCode
		}
		if a := w.get(countries, "Origin: https://other.org"); a.Header.Get("Access-Control-Allow-Origin") != want.allow || a.StatusCode != http.StatusOK {
			t.Errorf("%q: %v", origin, a.Header)
		}
		if got := post("https://other.org"); got != want.write {
			t.Errorf("%q: a write from another site: %d, want %d", origin, got, want.write)
		}
		if origin == "https://mine.org" && post(origin) != 201 {
			t.Errorf("%q may not write", origin)
		}
		a := w.do("OPTIONS", empty, "", "Origin: https://mine.org", "Access-Control-Request-Method: POST")
		if methods := a.Header.Get("Access-Control-Allow-Methods"); a.StatusCode != http.StatusNoContent || (methods == "GET, HEAD, POST, DELETE, OPTIONS") != (origin != "") {
			t.Errorf("%q: preflight %s, %q", origin, a.Status, methods)
		}
		// Requests that no browser sends are not restricted.
		if a := w.do("POST", empty, point(1, 2, `{}`), asGeoJSON); a.StatusCode != http.StatusCreated {
			t.Errorf("%q: a program's write: %s", origin, a.Status)
		}
	}
	for _, o := range []Options{{Origin: "mine.org"}, {Origin: "https://mine.org/x"}, {URL: "x"}, {URL: "ftp://x"}, {URL: "https://x/?a"}} {
		if _, err := New(nil, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
