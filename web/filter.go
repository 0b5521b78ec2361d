package web

import (
	"errors"
	"slices"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/web/cql2"
)

// Filters (Part 3)
//
// A store's query has one area and one condition, both of which must hold. Those come
// from the operands of a filter's top-level AND: the first area, unless parameter bbox
// is given, and the conditions. The rest, such as a second area, or an area under OR,
// is judged here, feature by feature (rest).

// The languages of filters: two forms of the same language.
const (
	langText = "cql2-text"
	langJSON = "cql2-json"
)

// filter takes the filter's parameters, and adds to the query all that it can express.
func (p *params) filter(c *store.Collection, q *store.Query) (rest *rest, condition string, err error) {
	parse := cql2.Parse
	switch lang, ok := p.take("filter-lang"); {
	case lang == langJSON:
		parse = cql2.ParseJSON
	case ok && lang != langText:
		return nil, "", &paramError{name: "filter-lang", value: lang, want: langText + " or " + langJSON}
	}
	if crs, ok := p.take("filter-crs"); ok && crs != crs84 {
		return nil, "", &paramError{name: "filter-crs", value: crs, want: crs84}
	}
	text, ok := p.take("filter")
	if !ok {
		return nil, "", nil
	}
	d, err := c.Schema()
	if err != nil {
		return nil, "", err
	}
	e, err := parse(text, cql2.Properties{Schema: d.Properties, More: d.MoreProperties || p.later})
	if err != nil {
		return nil, "", &paramError{name: "filter", value: text, err: err}
	}
	left := []*cql2.Expr{e}
	if e.Op == cql2.And {
		left = slices.Clone(e.Args)
	}
	left = slices.DeleteFunc(left, func(e *cql2.Expr) bool {
		switch {
		case e.Op == cql2.Filter:
			condition = "(" + e.Filter + ")" // At most one operand is a condition.
			return true
		case e.Op == cql2.Area && !e.Not && q.Area == nil:
			q.Area, q.Relation = e.Area, e.Relation
			return true
		}
		return false
	})
	if len(left) == 0 {
		return nil, condition, nil
	}
	rest, err = restOf(c, &cql2.Expr{Op: cql2.And, Args: left})
	return rest, condition, err
}

// rest is the part of a filter that a store's query cannot express.
type rest struct {
	op   cql2.Op
	args []*rest
	one  *store.Prepared // a condition or an area
	not  bool
}

// restOf prepares conditions and areas, once for all features.
func restOf(c *store.Collection, e *cql2.Expr) (*rest, error) {
	r := &rest{op: e.Op, not: e.Not}
	for _, a := range e.Args {
		arg, err := restOf(c, a)
		if err != nil {
			return nil, err
		}
		r.args = append(r.args, arg)
	}
	var err error
	switch e.Op {
	case cql2.Filter:
		r.one, err = c.Prepare(store.Query{Filter: e.Filter})
	case cql2.Area:
		r.one, err = c.Prepare(store.Query{Area: e.Area, Relation: e.Relation})
	}
	return r, err
}

// within is the rest that also requires an area.
func (r *rest) within(area *store.Prepared) *rest {
	return &rest{op: cql2.And, args: []*rest{{one: area}, r}}
}

// match reports whether the rest is true of a feature, in steps (store.Prepared.MatchIn).
// A nil rest always is.
func (r *rest) match(f *store.Found, s *feature.Steps) (bool, error) {
	if r == nil {
		return true, nil
	}
	if r.one != nil {
		if r.not && f.View.Type() == 0 {
			return false, nil // The feature's place is unknown.
		}
		ok, err := r.one.MatchIn(f, s)
		return ok != r.not && err == nil, err
	}
	for _, a := range r.args {
		if ok, err := a.match(f, s); err != nil || ok == (r.op == cql2.Or) {
			return ok, err
		}
	}
	return r.op == cql2.And, nil
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
