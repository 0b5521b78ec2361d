package api

import (
	"context"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// Insert stores one object.
func (s *service) Insert(ctx context.Context, req *catfishv1.InsertRequest) (
	*catfishv1.InsertResponse, error,
) {
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return nil, err
	}
	it, err := itemOf("item", req.GetItem())
	if err != nil {
		return nil, statusOf(name, err)
	}
	if err := s.backend.Host.CheckMemory(); err != nil {
		return nil, statusOf(name, err)
	}
	b, several, err := s.groups(name)
	switch {
	case err != nil:
		return nil, err
	case several:
		_, err = b.Insert(ctx, []rstar.Item{it})
	default:
		err = c.Insert(it.Rect, it.ID)
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.InsertResponse{}, nil
}

// Update moves one object.
func (s *service) Update(ctx context.Context, req *catfishv1.UpdateRequest) (
	*catfishv1.UpdateResponse, error,
) {
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return nil, err
	}
	from, err := rectOf("old_rect", req.GetOldRect())
	if err != nil {
		return nil, statusOf(name, err)
	}
	to, err := rectOf("new_rect", req.GetNewRect())
	if err != nil {
		return nil, statusOf(name, err)
	}
	if err := s.backend.Host.CheckMemory(); err != nil {
		return nil, statusOf(name, err)
	}
	b, several, err := s.groups(name)
	found := false
	switch {
	case err != nil:
		return nil, err
	case several:
		found, err = b.Update(ctx, from, to, req.GetId())
	default:
		found, err = c.Update(from, to, req.GetId())
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.UpdateResponse{Found: found}, nil
}

// Delete removes one object.
func (s *service) Delete(ctx context.Context, req *catfishv1.DeleteRequest) (
	*catfishv1.DeleteResponse, error,
) {
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return nil, err
	}
	it, err := itemOf("item", req.GetItem())
	if err != nil {
		return nil, statusOf(name, err)
	}
	b, several, err := s.groups(name)
	found := false
	switch {
	case err != nil:
		return nil, err
	case several:
		found, err = b.Delete(ctx, it)
	default:
		found, err = c.Delete(it.Rect, it.ID)
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.DeleteResponse{Found: found}, nil
}
