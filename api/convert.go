package api

import (
	"errors"
	"fmt"
	"math"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

var errMissing = errors.New("required, but missing")

// rectOf converts and checks the rectangle in the named field. Its error
// is a *fieldError.
func rectOf(field string, p *catfishv1.Rect) (rstar.Rect, error) {
	if p == nil {
		return rstar.Rect{}, &fieldError{field, ReasonBadField, errMissing}
	}
	r := rstar.Rect{
		MinX: p.GetMinX(), MinY: p.GetMinY(),
		MaxX: p.GetMaxX(), MaxY: p.GetMaxY(),
	}
	if err := r.Validate(); err != nil {
		return r, &fieldError{field, ReasonBadRect, err}
	}
	return r, nil
}

// itemOf is rectOf for an object.
func itemOf(field string, p *catfishv1.Item) (rstar.Item, error) {
	if p == nil {
		return rstar.Item{}, &fieldError{field, ReasonBadField, errMissing}
	}
	r, err := rectOf(field+".rect", p.GetRect())
	return rstar.Item{Rect: r, ID: p.GetId()}, err
}

// checkFinite returns a *fieldError if v is NaN or infinite.
func checkFinite(field string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return &fieldError{field, ReasonBadField,
			fmt.Errorf("is %v, want a finite number", v)}
	}
	return nil
}

// itemsToProto converts one batch in three allocations. It does not reuse them,
// because a message must not change after it was sent.
func itemsToProto(items []rstar.Item) []*catfishv1.Item {
	cells := make([]struct {
		item catfishv1.Item
		rect catfishv1.Rect
	}, len(items))
	out := make([]*catfishv1.Item, len(items))
	for i := range items {
		c := &cells[i]
		setRect(&c.rect, &items[i].Rect)
		c.item.Id, c.item.Rect = items[i].ID, &c.rect
		out[i] = &c.item
	}
	return out
}

// neighborsToProto is itemsToProto for neighbors.
func neighborsToProto(ns []rstar.Neighbor) []*catfishv1.Neighbor {
	cells := make([]struct {
		neighbor catfishv1.Neighbor
		item     catfishv1.Item
		rect     catfishv1.Rect
	}, len(ns))
	out := make([]*catfishv1.Neighbor, len(ns))
	for i := range ns {
		c := &cells[i]
		setRect(&c.rect, &ns[i].Rect)
		c.item.Id, c.item.Rect = ns[i].ID, &c.rect
		c.neighbor.Item, c.neighbor.Distance = &c.item, ns[i].Dist
		out[i] = &c.neighbor
	}
	return out
}

func setRect(p *catfishv1.Rect, r *rstar.Rect) {
	p.MinX, p.MinY, p.MaxX, p.MaxY = r.MinX, r.MinY, r.MaxX, r.MaxY
}
