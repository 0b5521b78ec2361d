package api

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// MaxGet is the maximum number of ids of one GetMany: looking them up takes a
// core some milliseconds.
const MaxGet = 4096

// Get returns one feature.
func (s *featureService) Get(ctx context.Context, req *catfishv1.FeatureServiceGetRequest) (
	*catfishv1.FeatureServiceGetResponse, error,
) {
	name := req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return nil, err
	}
	sel, err := selectionOf(req.GetSelection())
	if err == nil {
		err = checkID("id", req.GetId())
	}
	if err != nil {
		return nil, statusOf(name, err)
	}
	var res catfishv1.FeatureServiceGetResponse
	err = c.GetMany(ctx, []string{req.GetId()}, func(_ int, f *store.Found) (_ bool, err error) {
		if f == nil {
			return false, query.NoFeature(c.Name(), req.GetId())
		}
		res.Feature, err = sel.featureToProto(f)
		return true, err
	})
	if err != nil {
		return nil, failed(ctx, name, ofFeature(req.GetId(), err))
	}
	return &res, nil
}

// GetMany collects the answer, then streams it.
func (s *featureService) GetMany(req *catfishv1.FeatureServiceGetManyRequest,
	stream grpc.ServerStreamingServer[catfishv1.FeatureServiceGetManyResponse],
) error {
	ctx, name := stream.Context(), req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return err
	}
	if n := len(req.GetIds()); n > MaxGet {
		return statusOf(name, &fieldError{"ids", ReasonBadField, fmt.Errorf("has %d elements, want at most %d", n, MaxGet)})
	}
	for i, id := range req.GetIds() {
		if err := checkID(fmt.Sprintf("ids[%d]", i), id); err != nil {
			return statusOf(name, err)
		}
	}
	var a featureAnswer
	if a.selection, err = selectionOf(req.GetSelection()); err != nil {
		return statusOf(name, err)
	}
	err = c.GetMany(ctx, req.GetIds(), func(_ int, f *store.Found) (bool, error) {
		if f == nil {
			return true, nil
		}
		return true, a.add(ctx, f)
	})
	if err == nil {
		err = a.send(ctx, stream)
	}
	if err != nil {
		return failed(ctx, name, err)
	}
	return nil
}
