package api

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// Search collects the answer, then streams it: see the package comment.
func (s *service) Search(req *catfishv1.SearchRequest,
	stream grpc.ServerStreamingServer[catfishv1.SearchResponse],
) error {
	ctx := stream.Context()
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return err
	}
	q, err := rectOf("query", req.GetQuery())
	if err != nil {
		return statusOf(name, err)
	}

	// One more than allowed distinguishes a full answer from a truncated one.
	limit := s.options.maxResults + 1
	if l := req.GetLimit(); l != 0 {
		limit = int(min(uint64(l), uint64(limit)))
	}
	buf := s.getItems()
	defer s.putItems(buf)
	*buf = c.SearchAppend((*buf)[:0], q, limit)
	if len(*buf) > s.options.maxResults {
		return statusOf(name, s.tooManyResults())
	}
	if err := callOf(ctx).hold(int64(len(*buf)) * itemBytes); err != nil {
		return statusOf(name, err)
	}

	for batch := range slices.Chunk(*buf, BatchItems) {
		err := sendBatch(ctx, stream, &catfishv1.SearchResponse{
			Items: itemsToProto(batch),
		})
		if err != nil {
			return statusOf(name, err)
		}
	}
	return nil
}

// SearchMany collects the answers, then streams them, as Search does.
func (s *service) SearchMany(req *catfishv1.SearchManyRequest,
	stream grpc.ServerStreamingServer[catfishv1.SearchManyResponse],
) error {
	ctx := stream.Context()
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return err
	}
	qs, err := rectsOf(req.GetQueries())
	if err != nil {
		return statusOf(name, err)
	}

	buf := s.getItems()
	defer s.putItems(buf)
	items, of := (*buf)[:0], make([]uint32, 0, len(qs))
	c.SearchMany(qs, func(query int, r rstar.Rect, id uint64) bool {
		if len(items)%BatchItems == 0 {
			if err = context.Cause(ctx); err != nil {
				return false
			}
		}
		items = append(items, rstar.Item{Rect: r, ID: id})
		of = append(of, uint32(query))
		return len(items) <= s.options.maxResults
	})
	*buf = items
	if err == nil && len(items) > s.options.maxResults {
		err = s.tooManyResults()
	}
	if err != nil {
		return statusOf(name, err)
	}

	for batch := range slices.Chunk(items, BatchItems) {
		err := sendBatch(ctx, stream, &catfishv1.SearchManyResponse{
			Items: itemsToProto(batch), Queries: of[:len(batch):len(batch)],
		})
		if err != nil {
			return statusOf(name, err)
		}
		of = of[len(batch):]
	}
	return nil
}

// rectsOf converts and checks the queries of a SearchMany.
func rectsOf(ps []*catfishv1.Rect) ([]rstar.Rect, error) {
	if len(ps) > MaxQueries {
		return nil, &fieldError{"queries", ReasonBadField,
			fmt.Errorf("has %d elements, want at most %d", len(ps), MaxQueries)}
	}
	qs := make([]rstar.Rect, len(ps))
	for i, p := range ps {
		var err error
		if qs[i], err = rectOf(fmt.Sprintf("queries[%d]", i), p); err != nil {
			return nil, err
		}
	}
	return qs, nil
}

// Nearest collects the answer, then streams it: see the package comment.
func (s *service) Nearest(req *catfishv1.NearestRequest,
	stream grpc.ServerStreamingServer[catfishv1.NearestResponse],
) error {
	ctx := stream.Context()
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return err
	}
	if err := checkNearest(req); err != nil {
		return statusOf(name, err)
	}
	near, err := s.collectNearest(ctx, c, req)
	if err != nil {
		return statusOf(name, err)
	}
	for batch := range slices.Chunk(near, BatchItems) {
		err := sendBatch(ctx, stream, &catfishv1.NearestResponse{
			Neighbors: neighborsToProto(batch),
		})
		if err != nil {
			return statusOf(name, err)
		}
	}
	return nil
}

func checkNearest(req *catfishv1.NearestRequest) error {
	if err := checkFinite("x", req.GetX()); err != nil {
		return err
	}
	if err := checkFinite("y", req.GetY()); err != nil {
		return err
	}
	if req.MaxDistance == nil {
		if req.GetK() == 0 {
			return &fieldError{"k", ReasonBadField, fmt.Errorf(
				"is 0 and max_distance is missing, want one of them")}
		}
		return nil
	}
	d := req.GetMaxDistance()
	if err := checkFinite("max_distance", d); err != nil {
		return err
	}
	if d < 0 {
		return &fieldError{"max_distance", ReasonBadField,
			fmt.Errorf("is %v, want 0 or more", d)}
	}
	return nil
}

// collectNearest runs the traversal. It checks ctx once per batch, because
// the traversal of a large radius takes long.
func (s *service) collectNearest(ctx context.Context, c Collection,
	req *catfishv1.NearestRequest,
) (near []neighbor, err error) {
	limit := s.options.maxResults + 1
	if k := req.GetK(); k != 0 {
		limit = int(min(uint64(k), uint64(limit)))
	}
	c.Nearest(req.GetX(), req.GetY(),
		func(r rstar.Rect, id uint64, dist float64) bool {
			if req.MaxDistance != nil && dist > req.GetMaxDistance() {
				return false
			}
			if len(near)%BatchItems == 0 {
				if err = context.Cause(ctx); err != nil {
					return false
				}
			}
			near = append(near, neighbor{
				rstar.Item{Rect: r, ID: id}, dist,
			})
			return len(near) < limit
		})
	if err == nil && len(near) > s.options.maxResults {
		err = s.tooManyResults()
	}
	return near, err
}

// Count is exact.
func (s *service) Count(ctx context.Context, req *catfishv1.CountRequest) (
	*catfishv1.CountResponse, error,
) {
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return nil, err
	}
	q, err := rectOf("query", req.GetQuery())
	if err != nil {
		return nil, statusOf(name, err)
	}
	return &catfishv1.CountResponse{Count: uint64(c.Count(q))}, nil
}

// sendBatch sends m unless the call has ended. It blocks while the
// client's flow-control window is full, until the call ends.
func sendBatch[T any](ctx context.Context,
	stream grpc.ServerStreamingServer[T], m *T,
) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := stream.Send(m); err != nil {
		return streamError(ctx, err)
	}
	return nil
}

func (s *service) tooManyResults() error {
	return &limitError{
		reason: ReasonResultTooLarge,
		limit:  int64(s.options.maxResults),
		text: fmt.Sprintf("answer exceeds this server's limit of %d objects; "+
			"ask for fewer or for a smaller area", s.options.maxResults),
	}
}
