package web

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/cql2"
	"github.com/catfish-index/catfish/internal/whole"
)

// Filters (Part 3)
//
// A store's query searches for one area. It is the first operand of a filter's top-level
// AND that is one, unless the query has an area, such as parameter bbox. The query judges
// the remaining filter, areas included, feature by feature.

// The languages of filters: two forms of the same language.
const (
	langText = "cql2-text"
	langJSON = "cql2-json"
)

// filter takes the filter's parameters, and adds them to the query.
func (p *params) filter(ctx context.Context, c whole.Collection, q *store.Query) error {
	parse := cql2.Parse
	switch lang, ok := p.take("filter-lang"); {
	case lang == langJSON:
		parse = cql2.ParseJSON
	case ok && lang != langText:
		return &paramError{name: "filter-lang", value: lang, want: langText + " or " + langJSON}
	}
	if crs, ok := p.take("filter-crs"); ok && crs != crs84 {
		return &paramError{name: "filter-crs", value: crs, want: crs84}
	}
	text, ok := p.take("filter")
	if !ok {
		return nil
	}
	d, err := p.schema(ctx, c)
	if err != nil {
		return err
	}
	f, err := parse(text, cql2.Properties{Schema: d.Properties, More: d.MoreProperties || p.later, Split: q.Area == nil})
	if err != nil {
		return &paramError{name: "filter", value: text, err: err}
	}
	q.Where = f.Where
	if f.Area != nil {
		q.Area, q.Relation = f.Area, f.Relation
	}
	return nil
}

// schema is the collection's, asked for once.
func (p *params) schema(ctx context.Context, c whole.Collection) (*store.Description, error) {
	if p.described == nil {
		d, err := c.Schema(ctx)
		if err != nil {
			return nil, err
		}
		p.described = &d
	}
	return p.described, nil
}

// placeOf is the place of an error in a filter: a column of a text, or a pointer in
// JSON, or neither.
func placeOf(err error) (column int, pointer string) {
	var bad *cql2.Error
	if errors.As(err, &bad) {
		return bad.Column, bad.Pointer
	}
	return 0, ""
}
