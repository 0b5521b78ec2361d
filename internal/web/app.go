package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/catfish-index/catfish/internal/web/app"
)

// The page at /, for browsers (package app). It is public, as the landing page is: it
// requests the data that it shows with its user's key.

// mapPage answers with the page itself.
func (q *request) mapPage() error {
	h := q.w.Header()
	h.Set("Content-Security-Policy", q.index.Policy)
	h.Set("Referrer-Policy", q.index.Referrer)
	return q.file(q.index.File)
}

func (q *request) asset() error {
	name := "assets/" + q.r.PathValue("file")
	f := app.Open(name)
	if f == nil {
		return &statusError{http.StatusNotFound, fmt.Sprintf("the page has no file %.200q; it may be of another version: load the page anew", name)}
	}
	return q.file(f)
}

// file answers with a file of the page.
func (q *request) file(f *app.File) error {
	h := q.w.Header()
	h.Add("Vary", "Accept-Encoding")
	// Only a name with a hash always has the same content.
	h.Set("Cache-Control", "no-cache")
	if f.Immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.Plain, `"`+f.ETag+`"`
	if acceptedCodings(q.r.Header)[gzipCoding] > 0 {
		body, tag = f.Gzip(), `"`+f.ETag+`-gzip"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	all, any := tags(q.r.Header, "If-None-Match")
	for _, t := range all {
		any = any || strings.TrimPrefix(t, "W/") == tag
	}
	if any {
		h.Del("Content-Encoding")
		q.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	// The body is the program's own memory: nothing is held for it.
	return q.send(http.StatusOK, f.Type, body)
}
