package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// link leads to another resource (RFC 8288).
type link struct {
	Href  string `json:"href"`
	Rel   string `json:"rel"`
	Type  string `json:"type,omitempty"`
	Title string `json:"title,omitempty"`
}

// base is how the client reaches the server, without a slash at the end.
func (q *request) base() string {
	if q.o.URL != "" {
		return strings.TrimSuffix(q.o.URL, "/")
	}
	if q.r.TLS != nil {
		return "https://" + q.r.Host
	}
	return "http://" + q.r.Host
}

// at is the address of a path of names, with a query that may be empty.
func (q *request) at(query string, names ...string) string {
	var b strings.Builder
	b.WriteString(q.base())
	for _, n := range names {
		b.WriteString("/" + url.PathEscape(n))
	}
	if len(names) == 0 {
		b.WriteByte('/')
	}
	if query != "" {
		b.WriteString("?" + query)
	}
	return b.String()
}

// selfAndAlternate are the links from a resource to itself and to its other form.
// json is its media type that is not HTML.
func (q *request) selfAndAlternate(html bool, json string, names ...string) []link {
	self := q.at(q.params.query(), names...)
	asJSON := link{Href: q.at(q.params.query(param{"f", "json"}), names...), Rel: "alternate", Type: json, Title: "this as JSON"}
	asHTML := link{Href: q.at(q.params.query(param{"f", "html"}), names...), Rel: "alternate", Type: typeHTML, Title: "this as a page"}
	if html {
		return []link{{self, "self", typeHTML, "this page"}, asJSON}
	}
	return []link{{self, "self", json, "this document"}, asHTML}
}

// sendJSON writes a value as JSON.
func (q *request) sendJSON(contentType string, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	if err := q.hold(&q.holds.answer, q.holds.answer+int64(len(b))); err != nil {
		return err
	}
	return q.send(http.StatusOK, contentType, b)
}

// marshal is JSON without the escapes for HTML, in which links are not legible.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
