package api

import (
	"context"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
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
	if err := checkMemory(s.backend); err != nil {
		return nil, statusOf(name, err)
	}
	if err := c.Insert(it.Rect, it.ID); err != nil {
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
	if err := checkMemory(s.backend); err != nil {
		return nil, statusOf(name, err)
	}
	found, err := c.Update(from, to, req.GetId())
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
	found, err := c.Delete(it.Rect, it.ID)
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.DeleteResponse{Found: found}, nil
}
