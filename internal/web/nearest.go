package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// The nearest features (package store, nearest.go)
//
// OGC API - Features has no such search. Its answer is a page of features like that of
// /items, but ordered by distance. Each feature has its distance as a member beside
// properties: the stored properties are unchanged. There is no next page: a client that
// wants more features sets a higher limit.

const nearestPattern = "/collections/{collectionId}/nearest"

// nearest answers with the features around a point, the nearest first.
func (q *request) nearest() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	html, err := q.html(typeGeoJSON, typeJSON)
	if err != nil {
		return err
	}
	n, err := q.nearestQueryOf(c)
	if err != nil {
		return err
	}
	if html {
		return q.nearestHTML(c, n)
	}
	body := bodies.Get().(*[]byte)
	defer keepBody(body)
	b := (*body)[:0]
	b = append(b, `{"type":"FeatureCollection","features":[`...)
	returned := 0
	err = q.searchNearest(c, n, func(g *store.Found) (bool, error) {
		if returned > 0 {
			b = append(b, ',')
		}
		b = appendFeature(b, g)
		b = append(b[:len(b)-1], `,"distance":`...)
		b = append(appendMetres(b, g.Distance), '}')
		if len(b) > pageBytes && returned > 0 {
			// A client could not request the rest as a next page.
			return false, &paramError{name: "limit", value: strconv.Itoa(n.K),
				err:  fmt.Errorf("so many of these features are more than the %d bytes that one answer holds", pageBytes),
				want: fmt.Sprintf("at most %d", returned)}
		}
		returned++
		return true, q.holdBody(b)
	})
	*body = b
	if err != nil {
		return err
	}
	b = appendLinks(append(b, `],"links":`...), q.nearestLinks(c, false))
	b = appendTimeStamp(b, q.o.Now())
	b = fmt.Appendf(b, `,"numberReturned":%d}`+"\n", returned)
	*body = b
	if err := q.holdBody(b); err != nil {
		return err
	}
	return q.send(http.StatusOK, typeGeoJSON, b)
}

// appendMetres appends a distance to the millimetre, which is the accuracy of
// feature.Origin.Distance.
func appendMetres(b []byte, metres float64) []byte { return strconv.AppendFloat(b, metres, 'f', 3, 64) }

// nearestQueryOf takes the parameters of /nearest.
func (q *request) nearestQueryOf(c whole.Collection) (n store.NearestQuery, err error) {
	p := &q.params
	if n.X, n.Y, err = p.point(); err != nil {
		return n, err
	}
	if n.K, err = p.limit(); err != nil {
		return n, err
	}
	if text, ok := p.take("max"); ok {
		if n.Within, err = number(text); err != nil || n.Within <= 0 {
			return n, &paramError{name: "max", value: text, err: err, want: "metres, more than 0"}
		}
	}
	// The search is ordered by distance: areas are judged feature by feature.
	conditions, err := q.conditionsIn(c, store.Query{Area: world}, "point", "limit", "max", "f")
	n.Filter, n.Where = conditions.Filter, conditions.Where
	return n, err
}

// point is parameter point: longitude, latitude.
func (p *params) point() (lon, lat float64, err error) {
	text, ok := p.take("point")
	bad := func(err error) (float64, float64, error) {
		return 0, 0, &paramError{name: "point", value: text, err: err,
			want: "longitude,latitude in degrees, from -180 to 180 and from -90 to 90"}
	}
	if !ok {
		return bad(errMissing)
	}
	x, y, two := strings.Cut(text, ",")
	if !two || strings.Contains(y, ",") {
		return bad(fmt.Errorf("there are %d numbers", strings.Count(text, ",")+1))
	}
	var v [2]float64
	for i, s := range []string{x, y} {
		if v[i], err = number(s); err != nil {
			return bad(err)
		}
	}
	switch {
	case math.Abs(v[0]) > 180:
		return bad(errors.New("the longitude is out of range"))
	case math.Abs(v[1]) > 90:
		return bad(errors.New("the latitude is out of range"))
	}
	if _, err := feature.NewOrigin(feature.Geographic, orb.Point{v[0], v[1]}); err != nil {
		return bad(err)
	}
	return v[0], v[1], nil
}

// searchNearest calls add with the features, the nearest first, until it returns false.
func (q *request) searchNearest(c whole.Collection, n store.NearestQuery, add func(*store.Found) (more bool, err error)) error {
	q.turns = limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	p := &q.turns
	defer p.End()
	n.Pace = p.Pause
	n.Hold = func(bytes int64) error { return q.hold(&q.holds.search, bytes) }
	return c.Nearest(q.ctx, n, add)
}

func (q *request) nearestLinks(c whole.Collection, html bool) []link {
	links := q.selfAndAlternate(html, typeGeoJSON, "collections", c.Name(), "nearest")
	return append(links, link{q.at("", "collections", c.Name()), "collection", typeJSON, "the collection"})
}

// nearestHTML answers with a table of the nearest features.
func (q *request) nearestHTML(c whole.Collection, n store.NearestQuery) error {
	type nearRow struct {
		row
		Metres string
	}
	var rows []nearRow
	size, cut := 0, false
	err := q.searchNearest(c, n, func(g *store.Found) (bool, error) {
		if size >= htmlBytes {
			cut = true
			return false, nil
		}
		r := nearRow{q.rowOf(c, g), string(appendMetres(nil, g.Distance))}
		rows = append(rows, r)
		size += 2 * (len(r.ID) + len(r.Href) + len(r.Properties))
		return true, q.hold(&q.holds.answer, int64(size))
	})
	if err != nil {
		return err
	}
	return q.sendHTML("nearest", view{
		Title: "Nearest features of " + c.Name(), Links: q.nearestLinks(c, true),
		Data: struct {
			Cut  bool
			Rows []nearRow
		}{cut, rows},
		Up: []crumb{{q.at("f=html", "collections"), "Collections"}, {q.at("f=html", "collections", c.Name()), c.Name()}},
	})
}
