package web

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Media types.
const (
	typeJSON    = "application/json"
	typeGeoJSON = "application/geo+json"
	typeHTML    = "text/html"
	typeSchema  = "application/schema+json"
	typeOpenAPI = "application/vnd.oai.openapi+json;version=3.0"
	typeMVT     = "application/vnd.mapbox-vector-tile"
)

// html reports whether the client wants a page for people. The other form has the media
// types of json, the best first. Parameter f decides, else header Accept; without both,
// the form is JSON.
func (q *request) html(json ...string) (bool, error) {
	if f, ok := q.params.take("f"); ok {
		switch f {
		case "json":
			return false, nil
		case "html":
			return true, nil
		}
		return false, &paramError{name: "f", value: f, want: "json or html"}
	}
	q.vary("Accept")
	accept := q.r.Header.Values("Accept")
	if len(accept) == 0 {
		return false, nil
	}
	best, html := 0.0, false
	for _, part := range strings.Split(strings.Join(accept, ","), ",") {
		t, quality, ok := acceptOf(part)
		if !ok || quality <= best {
			continue
		}
		for _, have := range json {
			if covers(t, have) {
				best, html = quality, false
			}
		}
		if quality > best && covers(t, typeHTML) {
			best, html = quality, true
		}
	}
	if best == 0 {
		return false, &statusError{http.StatusNotAcceptable, fmt.Sprintf("header Accept is %.200q, and there are %s and %s",
			strings.Join(accept, ","), strings.Join(json, ", "), typeHTML)}
	}
	return html, nil
}

// acceptOf parses one range of an Accept header, such as text/*;q=0.5.
func acceptOf(s string) (t string, quality float64, ok bool) {
	t, parameters, err := mime.ParseMediaType(s)
	if err != nil {
		return "", 0, false
	}
	quality = 1
	if v, has := parameters["q"]; has {
		if quality, err = strconv.ParseFloat(v, 64); err != nil || !(quality >= 0 && quality <= 1) {
			return "", 0, false
		}
	}
	return t, quality, true
}

// covers reports whether a media range includes a type.
func covers(of, t string) bool {
	t, _, _ = strings.Cut(t, ";")
	if of == "*/*" || of == t {
		return true
	}
	major, ok := strings.CutSuffix(of, "/*")
	return ok && strings.HasPrefix(t, major+"/")
}

// accepted are the codings that the client accepts.
func (q *request) accepted() *accepted {
	if !q.coded {
		q.codings, q.coded = acceptedCodings(q.r.Header), true
	}
	return &q.codings
}

// varyByCoding says that an answer depends on Accept-Encoding.
func (q *request) varyByCoding() { q.vary("Accept-Encoding") }

// vary says that an answer depends on a header.
func (q *request) vary(name string) {
	if h := q.w.Header(); !slices.Contains(h["Vary"], name) {
		h["Vary"] = append(h["Vary"], name)
	}
}

// mayBeKept sets how caches may keep the answer: no-cache, if they revalidate it each
// time, or no-store, not at all. Only the client keeps an answer that needs a key: a
// shared cache does not know which clients may see it.
func (q *request) mayBeKept(how string) {
	if q.o.Keys != nil {
		how = "private, " + how
	}
	q.w.Header().Set("Cache-Control", how)
}
