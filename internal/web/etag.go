package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/whole"
)

// The ETag of a feature is its revision, which is unique among the states of a
// collection's feature:
//
//	"r4711"            as GeoJSON
//	"r4711-html"       as a page
//	"r4711-html-gzip"  as a page, compressed
//	"r4711.2"          of the second of several groups, each of which counts its own
//
// Strong tags of different bytes differ, so each coding has its own (RFC 9110 section
// 8.8.3.3). If-Match names states that a write may replace. There all forms mean the
// same state, because a client does not choose how its answer was compressed.

func etag(c whole.Collection, id string, revision uint64, html bool) string {
	tag := `"r` + strconv.FormatUint(revision, 10)
	if g := c.GroupOf(id); g > 0 {
		tag += "." + strconv.Itoa(g)
	}
	if html {
		return tag + `-html"`
	}
	return tag + `"`
}

// tags returns the entity tags of a header, and whether the header is *.
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

// withCoding is the tag of a compressed answer, given the uncompressed answer's tag.
func withCoding(tag string, c coding) string {
	return strings.TrimSuffix(tag, `"`) + "-" + c.String() + `"`
}

// withoutCoding reverts withCoding.
func withoutCoding(tag string) (string, coding) {
	for _, c := range []coding{zstdCoding, gzipCoding} {
		if own, ok := strings.CutSuffix(tag, "-"+c.String()+`"`); ok {
			return own + `"`, c
		}
	}
	return tag, identity
}

// unchanged sets the ETag of a GET's answer, and answers 304 if the client has that
// version (If-None-Match) in a coding that it accepts. The 304 then has the tag of the
// client's version, by which a cache knows which of several answers is meant.
func (q *request) unchanged(tag string) bool {
	h := q.w.Header()
	h.Set("ETag", tag)
	all, any := tags(q.r.Header, "If-None-Match")
	has := -1.0
	for _, t := range all {
		own, c := withoutCoding(strings.TrimPrefix(t, "W/"))
		if quality := q.accepted()[c]; own == tag && quality > max(has, 0) {
			has = quality
			h.Set("ETag", strings.TrimPrefix(t, "W/"))
		}
	}
	if has < 0 && !any || q.reading.Err() != nil { // Then the answer fails, too.
		return false
	}
	q.varyByCoding()
	q.w.WriteHeader(http.StatusNotModified)
	return true
}
