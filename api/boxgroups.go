package api

import (
	"context"
	"math"
	"slices"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/whole"
	"github.com/catfish-index/catfish/rstar"
)

// Calls about boxes that several groups have.

// groups returns the collection if several groups have it; ok is false if one has. The error is a
// status.
func (s *service) groups(name string) (b whole.Boxes, ok bool, err error) {
	if b, ok, err = s.options.groups.Boxes(name); err != nil {
		err = statusOf(name, err)
	}
	return b, ok, err
}

func holding(ctx context.Context) func(int64) error {
	return func(n int64) error { return hold(ctx, n) }
}

// findOfGroups makes searches, of which limit objects are wanted; 0: all.
func (s *service) findOfGroups(ctx context.Context, b whole.Boxes, qs []rstar.Rect, limit uint32) ([]whole.FoundBox, error) {
	most := s.options.maxResults + 1
	if limit != 0 {
		most = int(min(uint64(limit), uint64(most)))
	}
	found, err := b.Search(ctx, qs, most, holding(ctx))
	if err == nil && len(found) > s.options.maxResults {
		err = s.tooManyResults()
	}
	return found, err
}

func (s *service) searchGroups(ctx context.Context, b whole.Boxes, q rstar.Rect, limit uint32, stream itemStream) error {
	found, err := s.findOfGroups(ctx, b, []rstar.Rect{q}, limit)
	if err != nil {
		return err
	}
	items := make([]rstar.Item, 0, BatchItems)
	for batch := range slices.Chunk(found, BatchItems) {
		items = items[:0]
		for _, f := range batch {
			items = append(items, f.Item)
		}
		if err := sendBatch(ctx, stream, &catfishv1.SearchResponse{Items: itemsToProto(items)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) searchManyGroups(ctx context.Context, b whole.Boxes, qs []rstar.Rect, stream grpc.ServerStreamingServer[catfishv1.SearchManyResponse]) error {
	found, err := s.findOfGroups(ctx, b, qs, 0)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(found, BatchItems) {
		items, of := make([]rstar.Item, len(batch)), make([]uint32, len(batch))
		for i, f := range batch {
			items[i], of[i] = f.Item, f.Query
		}
		if err := sendBatch(ctx, stream, &catfishv1.SearchManyResponse{Items: itemsToProto(items), Queries: of}); err != nil {
			return err
		}
	}
	return nil
}

// nearestOfGroups returns the answer in batches.
func (s *service) nearestOfGroups(ctx context.Context, b whole.Boxes, req *catfishv1.NearestRequest) (near [][]rstar.Neighbor, err error) {
	limit, within := s.options.maxResults+1, math.MaxFloat64
	if k := req.GetK(); k != 0 {
		limit = int(min(uint64(k), uint64(limit)))
	}
	if req.MaxDistance != nil {
		within = req.GetMaxDistance()
	}
	all, err := b.Nearest(ctx, req.GetX(), req.GetY(), within, limit, holding(ctx))
	if err == nil && len(all) > s.options.maxResults {
		err = s.tooManyResults()
	}
	return slices.Collect(slices.Chunk(all, BatchItems)), err
}
