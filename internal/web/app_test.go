package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/web/app"
)

const browserAccept = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// A browser gets the map at /; a client that asks for JSON, or for the plain page, gets
// that.
func TestApp(t *testing.T) {
	w := newSite(t, Options{})
	index := app.Open("index.html")
	a := w.get("/", browserAccept)
	if a.StatusCode != http.StatusOK || !bytes.Equal(a.body, index.Plain) {
		t.Fatalf("%s: %.300s", a.Status, a.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": app.Policy, "Cache-Control": "no-cache",
		"X-Content-Type-Options": "nosniff", "Content-Encoding": "",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Accept", "Accept-Encoding"} {
		if v := strings.Join(a.Header.Values("Vary"), ","); !strings.Contains(v, name) {
			t.Errorf("Vary is %q, without %s", v, name)
		}
	}
	if a := w.get("/?f=html", browserAccept); !strings.Contains(string(a.body), "/conformance") || bytes.Contains(a.body, []byte("<script")) {
		t.Errorf("the plain page: %.300s", a.body)
	}
	for _, target := range []string{"/", "/?f=json"} {
		if a := w.get(target, "Accept: application/json"); a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", target, a.Header)
		}
	}
	if a := w.get("/?collection=x", browserAccept); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown parameter: %s", a.Status)
	}
}

// Without scripts, too, the page links to all resources.
func TestAppLinks(t *testing.T) {
	w := newSite(t, Options{})
	page := string(w.get("/", browserAccept).body)
	_, plain, ok := strings.Cut(page, "<noscript>")
	if !ok {
		t.Fatal(page)
	}
	for _, name := range []string{"collections", "api", "conformance"} {
		m := regexp.MustCompile(`href="(` + name + `\?f=html)"`).FindStringSubmatch(plain)
		if m == nil {
			t.Errorf("no link to %s", name)
			continue
		}
		if a := w.get("/" + m[1]); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", m[1], a.Status)
		}
	}
}

// Files with a hash in their name are cached for ever, compressed for clients that
// accept it, and public on a server with keys.
func TestAppAssets(t *testing.T) {
	keys, _ := testKeys(t, "countries:read")
	w := newSite(t, Options{Keys: keys})
	page := string(w.get("/", browserAccept).body)
	m := regexp.MustCompile(`src="\.(/assets/[^"]*\.js)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal(page)
	}
	plain := w.get(m[1])
	if plain.StatusCode != http.StatusOK || plain.Header.Get("Cache-Control") != "public, max-age=31536000, immutable" ||
		plain.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%s %v", plain.Status, plain.Header)
	}
	packed := w.get(m[1], "Accept-Encoding: br, gzip;q=0.8")
	r, err := gzip.NewReader(bytes.NewReader(packed.body))
	if err != nil || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v, %v", err, packed.Header)
	}
	if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, plain.body) {
		t.Errorf("%d bytes, want %d, %v", len(b), len(plain.body), err)
	}
	if packed.Header.Get("ETag") == plain.Header.Get("ETag") {
		t.Error("both forms have one tag")
	}
	for accept, tag := range map[string]string{"": plain.Header.Get("ETag"), "gzip": "W/" + packed.Header.Get("ETag")} {
		if a := w.get(m[1], "Accept-Encoding: "+accept, "If-None-Match: "+tag); a.StatusCode != http.StatusNotModified || len(a.body) != 0 {
			t.Errorf("%q: %s", accept, a.Status)
		}
	}
	if a := w.do(http.MethodHead, m[1], ""); a.StatusCode != http.StatusOK || len(a.body) != 0 {
		t.Errorf("HEAD: %s, %d bytes", a.Status, len(a.body))
	}
	for target, want := range map[string]int{
		"/assets/none.js": http.StatusNotFound, "/assets/..%2findex.html": http.StatusNotFound, "/assets/": http.StatusNotFound,
	} {
		if a := w.get(target); a.StatusCode != want {
			t.Errorf("%s: %s, want %d", target, a.Status, want)
		}
	}
}

func TestAcceptsGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP": true, "x-gzip": true, "*": true, "br": false, "gzip;q=0": false, "gzip;q=0, *": false,
		"*;q=0": false, "br;q=1.0, *;q=0.1": true, "gzip;q=x": false, "gzip ; q=0.5": true, "identity": false,
	} {
		if got := acceptedCodings(http.Header{"Accept-Encoding": {header}})[gzipCoding] > 0; got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// With a base map the page names the map, and its policy has that server; the policies
// of the plain pages and the files do not.
func TestAppBasemap(t *testing.T) {
	w := newSite(t, Options{Basemap: Basemap{URL: "https://tile.example.org/{z}/{x}/{y}.png", Attribution: "Them"}})
	a := w.get("/", browserAccept)
	if !bytes.Contains(a.body, []byte(`content="https://tile.example.org/{z}/{x}/{y}.png"`)) ||
		!strings.Contains(a.Header.Get("Content-Security-Policy"), "connect-src 'self' https://tile.example.org;") ||
		a.Header.Get("Referrer-Policy") != "strict-origin-when-cross-origin" {
		t.Errorf("%v: %.900s", a.Header, a.body)
	}
	if plain := newSite(t, Options{}).get("/", browserAccept); plain.Header.Get("ETag") == a.Header.Get("ETag") || plain.Header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("without a base map: %v", plain.Header)
	}
	if a := w.get("/?f=html"); strings.Contains(a.Header.Get("Content-Security-Policy"), "tile.example.org") {
		t.Errorf("the plain page: %v", a.Header)
	}
	if _, err := New(nil, Options{Basemap: Basemap{URL: "https://tile.example.org/"}}); !errors.Is(err, ErrBasemap) {
		t.Errorf("an address without places: %v", err)
	}
}
