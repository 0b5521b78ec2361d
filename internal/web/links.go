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

// base is the server's address for the client, without a slash at the end.
func (q *request) base() string {
	if q.o.URL != "" {
		return strings.TrimSuffix(q.o.URL, "/")
	}
	if q.secure() {
		return "https://" + q.r.Host
	}
	return "http://" + q.r.Host
}

// at is the address of a path of names, with a query that may be empty.
func (q *request) at(query string, names ...string) string {
	b := make([]byte, 0, 256)
	switch {
	case q.o.URL != "":
		b = append(b, strings.TrimSuffix(q.o.URL, "/")...)
	case q.secure():
		b = append(append(b, "https://"...), q.r.Host...)
	default:
		b = append(append(b, "http://"...), q.r.Host...)
	}
	for _, n := range names {
		b = append(append(b, '/'), url.PathEscape(n)...)
	}
	if len(names) == 0 {
		b = append(b, '/')
	}
	if query != "" {
		b = append(append(b, '?'), query...)
	}
	return string(b)
}

// selfAndAlternate are the links from a resource to itself and to its other form. json
// is the media type of the form that is not HTML.
func (q *request) selfAndAlternate(html bool, json string, names ...string) []link {
	self := q.at(q.params.query(), names...)
	links := make([]link, 0, 4)
	if html {
		return append(links, link{self, "self", typeHTML, "this page"},
			link{q.at(q.params.query(param{"f", "json"}), names...), "alternate", json, "this as JSON"})
	}
	return append(links, link{self, "self", json, "this document"},
		link{q.at(q.params.query(param{"f", "html"}), names...), "alternate", typeHTML, "this as a page"})
}

// appendLinks appends links as marshal would, without reflection, which would take a
// third of the time of a small page.
func appendLinks(b []byte, links []link) []byte {
	b = append(b, '[')
	for i, l := range links {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"href":`...), l.Href)
		b = appendText(append(b, `,"rel":`...), l.Rel)
		if l.Type != "" {
			b = appendText(append(b, `,"type":`...), l.Type)
		}
		if l.Title != "" {
			b = appendText(append(b, `,"title":`...), l.Title)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendText appends a text as JSON.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			text, err := marshal(s)
			if err != nil {
				panic(err) // A text always has a JSON form.
			}
			return append(b, bytes.TrimSuffix(text, []byte("\n"))...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
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

// marshal is JSON without the escapes for HTML, which make links illegible.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
