package web

import (
	"net/http"
	"strconv"
	"strings"
)

// The ETag of a feature is its revision, which no two states of a collection's
// feature share:
//
//	"r4711"        as GeoJSON
//	"r4711-html"   as a page
//
// If-Match names states that a write may replace, so it has those of GeoJSON;
// either form means the same state there.

func etag(revision uint64, html bool) string {
	if html {
		return `"r` + strconv.FormatUint(revision, 10) + `-html"`
	}
	return `"r` + strconv.FormatUint(revision, 10) + `"`
}

// tags are the entity tags of a header, and whether it is *.
func tags(h http.Header, name string) (all []string, any bool) {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimSpace(t); t == "*" {
				any = true
			} else if t != "" {
				all = append(all, t)
			}
		}
	}
	return all, any
}

// notModified reports whether the client has the feature as it is (If-None-Match).
func (q *request) notModified(revision uint64, html bool) bool {
	all, any := tags(q.r.Header, "If-None-Match")
	own := etag(revision, html)
	for _, t := range all {
		if strings.TrimPrefix(t, "W/") == own {
			return true
		}
	}
	return any
}
