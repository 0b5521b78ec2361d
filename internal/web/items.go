package web

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// itemsQuery is a query of /items.
type itemsQuery struct {
	query store.Query
	limit int
	count bool      // numberMatched is requested
	exact bool      // without a time limit
	until time.Time // the end of counting, unless exact
}

// itemsQueryOf takes the parameters of /items.
func (q *request) itemsQueryOf(c whole.Collection) (i itemsQuery, err error) {
	p := &q.params
	if i.query.Area, err = p.bbox(); err != nil {
		return i, err
	}
	i.query.Nowhere = i.query.Area != nil // An area in the filter is no bbox.
	if i.limit, err = p.limit(); err != nil {
		return i, err
	}
	if after, ok := p.take("after"); ok {
		if err := feature.CheckID(after); err != nil {
			if after == "" {
				err = errEmpty
			}
			return i, &paramError{name: "after", value: after, err: err, want: fmt.Sprintf("the id of a feature, 1 to %d bytes", feature.MaxIDBytes)}
		}
		i.query.After = after
		i.query.Order = query.ByID
	}
	switch text, ok := p.take("numberMatched"); {
	case !ok || text == "true":
		i.count, i.exact = true, ok
	case text != "false":
		return i, &paramError{name: "numberMatched", value: text, want: "true or false"}
	}
	when, err := p.datetime(q.o.Time)
	if err != nil {
		return i, err
	}
	if err = p.filter(q.ctx, c, &i.query); err != nil {
		return i, err
	}
	where, err := p.properties(q.ctx, c, reserved...)
	if err != nil {
		return i, err
	}
	i.query.Filter = and(when, where)
	return i, nil
}

// items answers with a page of a collection's features.
func (q *request) items() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	html, err := q.html(typeGeoJSON, typeJSON)
	if err != nil {
		return err
	}
	i, err := q.itemsQueryOf(c)
	if err != nil {
		return err
	}
	if html {
		return q.itemsHTML(c, i)
	}
	body := bodies.Get().(*[]byte)
	defer keepBody(body)
	b := (*body)[:0]
	b = append(b, `{"type":"FeatureCollection","features":[`...)
	f, err := q.search(c, i, func(g *store.Found) (bool, error) {
		end, first := len(b), b[len(b)-1] == '['
		if !first {
			b = append(b, ',')
		}
		b = appendFeature(b, g)
		if len(b) > pageBytes && !first {
			b = b[:end]
			return false, q.holdBody(b)
		}
		return true, q.holdBody(b)
	})
	*body = b
	if err != nil {
		return err
	}
	b = appendLinks(append(b, `],"links":`...), q.itemsLinks(c, false, f))
	b = appendTimeStamp(b, q.o.Now())
	if f.matched >= 0 {
		b = append(b, `,"numberMatched":`...)
		b = strconv.AppendInt(b, int64(f.matched), 10)
	}
	b = append(b, `,"numberReturned":`...)
	b = append(strconv.AppendInt(b, int64(f.returned), 10), "}\n"...)
	*body = b
	if err := q.holdBody(b); err != nil {
		return err
	}
	return q.send(http.StatusOK, typeGeoJSON, b)
}

// appendTimeStamp appends the member with the time of the answer.
func appendTimeStamp(b []byte, now time.Time) []byte {
	b = append(b, `,"timeStamp":"`...)
	return append(now.UTC().AppendFormat(b, time.RFC3339), '"')
}

// holdBody holds memory for an answer that grows.
func (q *request) holdBody(b []byte) error {
	if n := int64(cap(b)); n > q.holds.answer {
		return q.hold(&q.holds.answer, n)
	}
	return nil
}

// appendFeature appends a feature as GeoJSON. It replaces invalid UTF-8.
func appendFeature(b []byte, g *store.Found) []byte {
	at := len(b)
	b = g.View.AppendGeoJSONOf(b, g.ID)
	if g.Expiry != 0 {
		b = append(b[:len(b)-1], `,"expires":"`...)
		b = append(g.Expires().UTC().AppendFormat(b, time.RFC3339Nano), `"}`...)
	}
	if !utf8.Valid(b[at:]) {
		b = append(b[:at], bytes.ToValidUTF8(b[at:], []byte("\uFFFD"))...)
	}
	return b
}

// itemsLinks are the links of a page. The link to the next page has all parameters.
func (q *request) itemsLinks(c whole.Collection, html bool, f found) []link {
	names := [...]string{"collections", c.Name(), "items"}
	links := q.selfAndAlternate(html, typeGeoJSON, names[:]...)
	if f.more {
		links = append(links, link{q.at(q.params.query(param{"after", string(f.last)}), names[:]...), "next", links[0].Type, "the next page"})
	}
	return append(links, link{q.at("", names[:2]...), "collection", typeJSON, "the collection"})
}
