package api

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

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
	if b, several, err := s.groups(name); several {
		if err == nil {
			if err = s.searchManyGroups(ctx, b, qs, stream); err != nil {
				err = statusOf(name, err)
			}
		}
		return err
	}
	var a manyAnswer
	if err := s.collectMany(ctx, c, qs, &a); err != nil {
		return statusOf(name, err)
	}
	for i := range a.batches {
		b := &a.batches[i]
		err := sendBatch(ctx, stream, &catfishv1.SearchManyResponse{
			Items: itemsToProto(b.items), Queries: b.of,
		})
		if err == nil {
			a.bytes -= b.bytes()
			*b = manyBatch{}
			err = hold(ctx, a.bytes)
		}
		if err != nil {
			return statusOf(name, err)
		}
	}
	return nil
}

// collectMany answers the queries in steps, from the first to the last.
func (s *service) collectMany(ctx context.Context, c Collection, qs []rstar.Rect,
	a *manyAnswer,
) error {
	for first := 0; first < len(qs); {
		var n int
		var rest *rstar.Scan
		step := func() {
			n, rest = c.SearchManySome(qs[first:], stepNodes,
				func(query int, r rstar.Rect, id uint64) bool {
					a.add(first+query, rstar.Item{Rect: r, ID: id})
					return a.n <= s.options.maxResults
				})
		}
		if first == 0 {
			step()
		} else if err := s.backend.Host.RunStep(ctx, sourceOf(ctx), step); err != nil {
			return err
		}
		if c.Closed() {
			return errClosed
		}
		first += n
		if rest != nil {
			if err := s.addRest(ctx, rest, first, a); err != nil {
				return err
			}
			first++
		}
		if a.n > s.options.maxResults {
			return s.tooManyResults()
		}
		if first == len(qs) && a.n <= BatchItems {
			return nil // callBytes has room for one batch
		}
		if err := hold(ctx, a.bytes); err != nil {
			return err
		}
	}
	return nil
}

// addRest finishes the search of one long query.
func (s *service) addRest(ctx context.Context, rest *rstar.Scan, query int,
	a *manyAnswer,
) error {
	defer rest.Close()
	if err := s.finish(ctx, rest, a.bytes); err != nil {
		return err
	}
	if a.n+rest.Count() > s.options.maxResults {
		return s.tooManyResults()
	}
	for part := rest.Take(); part != nil; part = rest.Take() {
		for i := range part {
			a.add(query, part[i])
		}
		if err := hold(ctx, a.bytes+int64(rest.Held())); err != nil {
			return err
		}
	}
	return nil
}

// manyAnswer has the answers to several queries, in batches as they are sent.
type manyAnswer struct {
	batches []manyBatch
	n       int   // objects
	bytes   int64 // of the batches
}

type manyBatch struct {
	items []rstar.Item
	of    []uint32 // the query of each
}

func (b *manyBatch) bytes() int64 {
	return int64(cap(b.items))*itemBytes + int64(cap(b.of))*4
}

func (a *manyAnswer) add(query int, it rstar.Item) {
	if a.n%BatchItems == 0 {
		b := manyBatch{}
		if a.n > 0 {
			b.items = make([]rstar.Item, 0, BatchItems)
			b.of = make([]uint32, 0, BatchItems)
			a.bytes += b.bytes()
		}
		a.batches = append(a.batches, b)
	}
	b := &a.batches[len(a.batches)-1]
	had := b.bytes()
	b.items, b.of = append(b.items, it), append(b.of, uint32(query))
	a.bytes += b.bytes() - had
	a.n++
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
