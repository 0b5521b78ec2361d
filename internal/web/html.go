package web

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// Pages for people: plain, without scripts, and complete in one request, so that a
// browser fetches nothing else.

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"alternate": func(links []link) string { return href(links, "alternate", "") },
	"next":      func(links []link) string { return href(links, "next", "") },
	"items":     func(links []link) string { return href(links, "items", typeHTML) },
	"schema":    func(links []link) string { return href(links, "describedby", "") },
	"self":      func(links []link) string { return href(links, "self", "") },
	"page":      withHTML,
}).ParseFS(files, "templates/*.html"))

// htmlPolicy allows a page its own style, and nothing else.
const htmlPolicy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// view is the data of a template.
type view struct {
	Server string // the server's title
	Home   string // the server's address
	Title  string
	Text   string
	Up     []crumb // the pages above
	Links  []link
	Data   any
}

// crumb links to a page above.
type crumb struct{ Href, Text string }

// href is the first link of a relation and, unless it is empty, a type.
func href(links []link, rel, t string) string {
	for _, l := range links {
		if l.Rel == rel && (t == "" || l.Type == t) {
			return l.Href
		}
	}
	return ""
}

// withHTML is an address with f=html.
func withHTML(address string) string {
	if strings.Contains(address, "?") {
		return address + "&f=html"
	}
	return address + "?f=html"
}

// sendHTML writes a page.
func (q *request) sendHTML(name string, v view) error {
	v.Server, v.Home = q.o.Title, q.at("f=html")
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name+".html", v); err != nil {
		return fmt.Errorf("page %s: %w", name, err)
	}
	if err := q.hold(&q.holds.answer, q.holds.answer+int64(b.Len())); err != nil {
		return err
	}
	q.w.Header().Set("Content-Security-Policy", htmlPolicy)
	return q.send(http.StatusOK, typeHTML+"; charset=utf-8", b.Bytes())
}

// row is a feature in a table.
type row struct {
	ID, Href, Properties string
}

// htmlBytes is the size of a full page for people: a browser takes a second for more.
const htmlBytes = 1 << 20

// shownBytes bounds the bytes of a feature's properties that a table shows.
const shownBytes = 400

func (q *request) rowOf(c whole.Collection, g *store.Found) row {
	id := string(g.ID)
	properties := clip(strings.ToValidUTF8(string(g.View.Properties()), "\uFFFD"), shownBytes)
	return row{id, q.at("f=html", "collections", c.Name(), "items", id), properties}
}

func (q *request) itemsHTML(c whole.Collection, i itemsQuery) error {
	var rows []row
	size := 0
	f, err := q.search(c, i, func(g *store.Found) (bool, error) {
		if size >= htmlBytes {
			return false, nil
		}
		r := q.rowOf(c, g)
		rows = append(rows, r)
		size += 2 * (len(r.ID) + len(r.Href) + len(r.Properties))
		return true, q.hold(&q.holds.answer, int64(size))
	})
	if err != nil {
		return err
	}
	matched := ""
	if f.matched >= 0 {
		matched = strconv.Itoa(f.matched)
	}
	return q.sendHTML("items", view{
		Title: "Features of " + c.Name(), Links: q.itemsLinks(c, true, f),
		Data: struct {
			Matched  string
			Returned int
			Rows     []row
		}{matched, f.returned, rows},
		Up: []crumb{{q.at("f=html", "collections"), "Collections"}, {q.at("f=html", "collections", c.Name()), c.Name()}},
	})
}

func (q *request) featureHTML(c whole.Collection, id string, geojson []byte, links []link) error {
	var b bytes.Buffer
	if err := json.Indent(&b, geojson, "", "  "); err != nil {
		return err
	}
	return q.sendHTML("text", view{
		Title: id, Links: links, Data: b.String(),
		Up: []crumb{
			{q.at("f=html", "collections"), "Collections"},
			{q.at("f=html", "collections", c.Name()), c.Name()},
			{q.at("f=html", "collections", c.Name(), "items"), "Features"},
		},
	})
}

// marshalIndent is marshal with indentation, for people.
func marshalIndent(v any) ([]byte, error) {
	b, err := marshal(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, b, "", "  ")
	return out.Bytes(), err
}
