package whole

import (
	"fmt"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// queryText is a store.Query.
type queryText struct {
	Area     *areaText         `json:",omitempty"`
	Nowhere  bool              `json:",omitempty"`
	Relation feature.Relation  `json:",omitempty"`
	Filter   string            `json:",omitempty"`
	Where    []string          `json:",omitempty"` // sources
	Limit    int               `json:",omitempty"`
	After    string            `json:",omitempty"`
	Count    bool              `json:",omitempty"`
	Fields   feature.Selection `json:",omitzero"`
}

type areaText struct {
	Shape   uint8      `json:",omitempty"`
	Box     [4]float64 `json:",omitzero"`
	Polygon []byte     `json:",omitempty"` // as the geometry of a feature
	Centre  orb.Point  `json:",omitzero"`
	Radius  float64    `json:",omitempty"`
}

// nearText is a store.NearestQuery.
type nearText struct {
	X, Y   float64
	K      int               `json:",omitempty"`
	Within float64           `json:",omitempty"`
	Filter string            `json:",omitempty"`
	Where  []string          `json:",omitempty"`
	Fields feature.Selection `json:",omitzero"`
}

// sourcesOf returns what makes an equal condition in another process.
func sourcesOf(p *filter.Program) ([]string, error) {
	s, ok := p.Sources()
	if !ok {
		return nil, fmt.Errorf("%w: condition %.100q, which another group cannot compile", fault.ErrSeveralGroups, p)
	}
	return s, nil
}

func textOf(q *store.Query, space feature.Space) (t *queryText, err error) {
	t = &queryText{Nowhere: q.Nowhere, Relation: q.Relation, Filter: q.Filter, Limit: q.Limit, After: q.After, Count: q.Count, Fields: q.Fields}
	if t.Where, err = sourcesOf(q.Where); err != nil {
		return nil, err
	}
	if a := q.Area; a != nil {
		t.Area = &areaText{Shape: uint8(a.Shape), Box: a.Box, Centre: a.Centre, Radius: a.Radius}
		if a.Polygon != nil {
			g, err := feature.Normalise(a.Polygon, feature.Options{Space: space})
			if err == nil {
				t.Area.Polygon, err = feature.Append(nil, g, nil)
			}
			if err != nil {
				return nil, fmt.Errorf("%w: area: %w", fault.ErrQuery, err)
			}
		}
	}
	return t, nil
}

func textOfNearest(q *store.NearestQuery) (t *nearText, err error) {
	t = &nearText{X: q.X, Y: q.Y, K: q.K, Within: q.Within, Filter: q.Filter, Fields: q.Fields}
	t.Where, err = sourcesOf(q.Where)
	return t, err
}

// compile makes a program of its sources.
type compile func(source string) (*filter.Program, error)

func (c compile) all(sources []string) (p *filter.Program, err error) {
	for i := len(sources) - 1; i >= 0; i-- { // And puts its argument first.
		next, err := c(sources[i])
		if err != nil {
			return nil, err
		}
		p = p.And(next)
	}
	return p, nil
}

func (t *queryText) query(c compile) (q store.Query, err error) {
	q = store.Query{Nowhere: t.Nowhere, Relation: t.Relation, Filter: t.Filter, Limit: t.Limit, After: t.After, Count: t.Count, Fields: t.Fields}
	if q.Where, err = c.all(t.Where); err != nil {
		return q, err
	}
	if a := t.Area; a != nil {
		q.Area = &store.Area{Shape: query.Shape(a.Shape), Box: a.Box, Centre: a.Centre, Radius: a.Radius}
		if a.Polygon != nil {
			v, err := feature.Parse(a.Polygon)
			if err != nil {
				return q, fmt.Errorf("%w: polygon: %w", errFormat, err)
			}
			q.Area.Polygon = v.Geometry()
		}
	}
	return q, nil
}

func (t *nearText) query(c compile) (q store.NearestQuery, err error) {
	q = store.NearestQuery{X: t.X, Y: t.Y, K: t.K, Within: t.Within, Filter: t.Filter, Fields: t.Fields}
	q.Where, err = c.all(t.Where)
	return q, err
}
