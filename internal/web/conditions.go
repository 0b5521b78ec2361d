package web

import (
	"slices"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// conditions takes the parameters that select features: datetime, filter, properties
// and, if the page has it among its others, bbox. It refuses all remaining parameters.
func (q *request) conditions(c whole.Collection, others ...string) (query store.Query, err error) {
	if slices.Contains(others, "bbox") {
		if query.Area, err = q.params.bbox(); err != nil {
			return query, err
		}
		query.Nowhere = query.Area != nil // An area in the filter is no bbox.
	}
	return q.conditionsIn(c, query, others...)
}

// conditionsIn is conditions of features in the query's area. There bbox, if the page has
// it, is not a condition, and no area of the filter becomes the query's if it has one.
func (q *request) conditionsIn(c whole.Collection, query store.Query, others ...string) (_ store.Query, err error) {
	p := &q.params
	when, err := p.datetime(q.o.Time)
	if err != nil {
		return query, err
	}
	if err := p.filter(q.ctx, c, &query); err != nil {
		return query, err
	}
	where, err := p.properties(q.ctx, c, append(slices.Clone(others), "datetime", "filter", "filter-lang", "filter-crs")...)
	if err != nil {
		return query, err
	}
	query.Filter = and(when, where)
	return query, nil
}
