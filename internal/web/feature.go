package web

import (
	"net/http"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// feature answers with one feature.
func (q *request) feature() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	html, err := q.html(typeGeoJSON, typeJSON)
	if err != nil {
		return err
	}
	if err := q.params.end("f"); err != nil {
		return err
	}
	id := q.r.PathValue("featureId")
	var b []byte
	var revision uint64
	err = c.GetMany(q.ctx, []string{id}, func(_ int, g *store.Found) (bool, error) {
		if g == nil {
			return false, noFeature(c, id)
		}
		revision = g.Revision
		b = appendFeature(nil, g)
		return false, q.holdBody(b)
	})
	if err != nil {
		return err
	}
	q.mayBeKept("no-cache")
	if q.unchanged(etag(c, id, revision, html)) {
		return nil
	}
	links := append(q.selfAndAlternate(html, typeGeoJSON, "collections", c.Name(), "items", id),
		link{q.at("", "collections", c.Name()), "collection", typeJSON, "the collection"})
	if html {
		return q.featureHTML(c, id, b, links)
	}
	b = appendLinks(append(b[:len(b)-1], `,"links":`...), links)
	b = append(b, "}\n"...)
	if err := q.holdBody(b); err != nil {
		return err
	}
	return q.send(http.StatusOK, typeGeoJSON, b)
}

func noFeature(c whole.Collection, id string) error {
	return query.NoFeature(c.Name(), id)
}
