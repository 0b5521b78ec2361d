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

	if b, several, err := s.groups(name); several {
		if err == nil {
			if err = s.searchGroups(ctx, b, q, req.GetLimit(), stream); err != nil {
				err = statusOf(name, err)
			}
		}
		return err
	}
	// One more than allowed distinguishes a full answer from a truncated one.
	limit := s.options.maxResults + 1
	if l := req.GetLimit(); l != 0 {
		limit = int(min(uint64(l), uint64(limit)))
	}
	buf := s.getItems()
	defer s.putItems(buf)
	items, rest := c.SearchSome((*buf)[:0], q, limit, stepNodes)
	switch {
	case rest != nil:
		defer rest.Close()
		err = s.sendRest(ctx, rest, stream)
	case c.Closed():
		err = errClosed
	default:
		*buf = items
		err = s.sendItems(ctx, items, stream)
	}
	if err != nil {
		return statusOf(name, err)
	}
	return nil
}

// errClosed: the collection was closed while the call was answered.
var errClosed = fmt.Errorf("api: dropped during the call: %w", rstar.ErrClosed)

type itemStream = grpc.ServerStreamingServer[catfishv1.SearchResponse]

// sendItems sends the answer of a short search.
func (s *service) sendItems(ctx context.Context, items []rstar.Item,
	stream itemStream,
) error {
	if len(items) > s.options.maxResults {
		return s.tooManyResults()
	}
	if len(items) > BatchItems { // callBytes has room for one batch
		if err := hold(ctx, int64(len(items))*itemBytes); err != nil {
			return err
		}
	}
	return sendBatches(ctx, items, stream)
}

// sendRest finishes a long search and sends its answer, block by block.
func (s *service) sendRest(ctx context.Context, rest *rstar.Scan,
	stream itemStream,
) error {
	if err := s.finish(ctx, rest, 0); err != nil {
		return err
	}
	if rest.Count() > s.options.maxResults {
		return s.tooManyResults()
	}
	for part := rest.Take(); part != nil; part = rest.Take() {
		if err := hold(ctx, int64(rest.Held())); err != nil {
			return err
		}
		if err := sendBatches(ctx, part, stream); err != nil {
			return err
		}
	}
	return nil
}

func sendBatches(ctx context.Context, items []rstar.Item, stream itemStream) error {
	for batch := range slices.Chunk(items, BatchItems) {
		err := sendBatch(ctx, stream, &catfishv1.SearchResponse{
			Items: itemsToProto(batch),
		})
		if err != nil {
			return err
		}
	}
	return nil
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
	if b, several, err := s.groups(name); several {
		if err != nil {
			return nil, err
		}
		n, err := b.Count(ctx, q)
		if err != nil {
			return nil, statusOf(name, err)
		}
		return &catfishv1.CountResponse{Count: uint64(n)}, nil
	}
	n, rest := c.CountSome(q, stepNodes)
	if rest != nil {
		defer rest.Close()
		if err := s.finish(ctx, rest, 0); err != nil {
			return nil, statusOf(name, err)
		}
		n = rest.Count()
	} else if c.Closed() {
		return nil, statusOf(name, errClosed)
	}
	return &catfishv1.CountResponse{Count: uint64(n)}, nil
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
