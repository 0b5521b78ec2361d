package api

import (
	"context"
	"errors"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// queryOf converts a Query in a field of a request, and checks its area and
// filter by preparing them. Its error is a *fieldError.
func queryOf(c whole.Collection, field string, p *catfishv1.Query) (store.Query, error) {
	_, q, err := prepared(c, field, p)
	return q, err
}

// prepared is queryOf, with the query ready for its collection.
func prepared(c whole.Collection, field string, p *catfishv1.Query) (*store.Prepared, store.Query, error) {
	q, err := decoded(c, field, p)
	if err != nil {
		return nil, q, err
	}
	ready, err := c.Prepare(q)
	if err != nil {
		return nil, q, ofQuery(field, err)
	}
	return ready, q, nil
}

// decoded is queryOf without the checks that preparing makes.
func decoded(c whole.Collection, field string, p *catfishv1.Query) (q store.Query, err error) {
	q.Filter = p.GetFilter()
	if q.Relation, err = relationOf(field+".relation", p.GetRelation()); err != nil {
		return q, err
	}
	if a := p.GetArea(); a != nil {
		q.Area, err = areaOf(c.Options().Space, field+".area", a)
	}
	return q, err
}

// ofQuery converts an error of preparing a query.
func ofQuery(field string, err error) error {
	var bad *filter.Error
	switch {
	case errors.As(err, &bad): // The errors around it add no information.
		return &fieldError{field + ".filter", ReasonBadFilter, bad}
	case errors.Is(err, filter.ErrFilter):
		return &fieldError{field + ".filter", ReasonBadFilter, err}
	}
	return &fieldError{field + ".area", reasonOfFeature(err), err}
}

func relationOf(field string, r catfishv1.Relation) (feature.Relation, error) {
	switch r {
	case catfishv1.Relation_RELATION_UNSPECIFIED, catfishv1.Relation_RELATION_INTERSECTS:
		return feature.Intersects, nil
	case catfishv1.Relation_RELATION_WITHIN:
		return feature.Within, nil
	case catfishv1.Relation_RELATION_CONTAINS:
		return feature.Contains, nil
	}
	return 0, unknownEnum(field, int32(r))
}

func areaOf(space feature.Space, field string, a *catfishv1.Area) (*store.Area, error) {
	switch s := a.GetShape().(type) {
	case *catfishv1.Area_Box:
		b := s.Box
		return query.Box(b.GetWest(), b.GetSouth(), b.GetEast(), b.GetNorth()), nil
	case *catfishv1.Area_Polygon:
		g, err := feature.DecodeGeometry([]byte(s.Polygon), feature.Options{Space: space})
		if err != nil {
			return nil, &fieldError{field + ".polygon", reasonOfFeature(err), err}
		}
		return query.Polygon(g), nil
	case *catfishv1.Area_Circle:
		return query.Circle(s.Circle.GetX(), s.Circle.GetY(), s.Circle.GetRadius()), nil
	}
	return nil, &fieldError{field, ReasonBadField, errMissing}
}

// Count counts while the search runs.
func (s *featureService) Count(ctx context.Context, req *catfishv1.FeatureServiceCountRequest) (
	*catfishv1.FeatureServiceCountResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	q, _, err := prepared(c, "query", req.GetQuery())
	if err != nil {
		return nil, statusOf(name, err)
	}
	p := s.pacer(ctx)
	defer p.end()
	q.Pace, q.Hold = p.pace, searching(ctx)
	if c.Several() {
		n, err := c.Count(ctx, q.Query)
		if err != nil {
			return nil, failed(ctx, name, err)
		}
		return &catfishv1.FeatureServiceCountResponse{Count: uint64(n)}, nil
	}
	var n uint64
	if err := search(ctx, c, q, func(*store.Found) (bool, error) { n++; return true, nil }); err != nil {
		return nil, failed(ctx, name, err)
	}
	return &catfishv1.FeatureServiceCountResponse{Count: n}, nil
}
