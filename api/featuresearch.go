package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
)

// Fields of FeatureServiceSearchResponse besides the features.
const (
	moreField  = 2
	tokenField = 3
)

// featureSearch is one Search.
type featureSearch struct {
	*featureService
	ctx    context.Context
	c      whole.Collection
	req    *catfishv1.FeatureServiceSearchRequest
	stream grpc.ServerStream
	q      *store.Prepared
	limit  int    // 0: all
	after  cursor // the answer begins after it
	last   string // id of the last feature sent
	more   bool   // there are more features than limit
	answer featureAnswer
}

// Search answers in one of three ways:
//
//   - without an area, or by id without a limit: by id in pages, batch by batch,
//     each sent before the next search, so that an answer may have any size
//   - by distance: it looks at all features in the area, and keeps the nearest
//   - anything else: the answer is collected, then streamed. While a client
//     reads, the search keeps nothing of the collection
func (s *featureService) Search(req *catfishv1.FeatureServiceSearchRequest,
	stream grpc.ServerStreamingServer[catfishv1.FeatureServiceSearchResponse],
) error {
	ctx, name := stream.Context(), req.GetCollection()
	c, err := s.collection(ctx, "collection", name)
	if err != nil {
		return err
	}
	r := featureSearch{featureService: s, ctx: ctx, c: c, req: req, stream: stream, limit: int(req.GetLimit())}
	if err := r.run(); err != nil {
		return failed(ctx, name, err)
	}
	return nil
}

func (r *featureSearch) run() (err error) {
	if r.after, err = cursorOf(r.req); err != nil {
		return err
	}
	if r.answer.selection, err = selectionOf(r.req.GetSelection()); err != nil {
		return err
	}
	if r.q, _, err = prepared(r.c, "query", r.req.GetQuery()); err != nil {
		return err
	}
	p := r.pacer(r.ctx)
	defer p.end()
	r.q.Pace, r.q.Hold = p.pace, searching(r.ctx)
	byID := r.req.GetOrder() == catfishv1.Order_ORDER_ID
	switch {
	case r.req.GetOrder() == catfishv1.Order_ORDER_DISTANCE:
		err = r.byDistance()
	case r.req.GetOrder() != catfishv1.Order_ORDER_UNSPECIFIED && !byID:
		err = unknownEnum("order", int32(r.req.GetOrder()))
	case r.q.Area == nil || byID && r.limit == 0:
		r.q.Order = query.ByID
		err = r.inPages(p)
	default:
		if byID {
			r.q.Order = query.ByID
		}
		err = r.collect()
	}
	if err != nil {
		return err
	}
	p.end()
	r.finish()
	return r.answer.send(r.ctx, r.stream)
}

// finish writes the fields of the last batch other than features.
func (r *featureSearch) finish() {
	if !r.more {
		return
	}
	b := protowire.AppendTag(r.answer.last, moreField, protowire.VarintType)
	b = protowire.AppendVarint(b, 1)
	if r.req.GetOrder() != catfishv1.Order_ORDER_UNSPECIFIED {
		r.after.id = r.last
		b = protowire.AppendTag(b, tokenField, protowire.BytesType)
		b = protowire.AppendString(b, r.after.token())
	}
	r.answer.last = b
}

// collect finds the whole answer.
func (r *featureSearch) collect() error {
	r.q.After = r.after.id
	// One more than allowed distinguishes a full answer from a truncated one.
	r.q.Limit = r.options.maxResults + 1
	if r.limit > 0 {
		r.q.Limit = min(r.limit, r.options.maxResults) + 1
	}
	return search(r.ctx, r.c, r.q, func(f *store.Found) (bool, error) {
		switch {
		case r.answer.n == r.limit && r.limit > 0:
			r.more = true
			return false, nil
		case r.answer.n == r.options.maxResults:
			return false, tooManyFeatures(r.options.maxResults)
		}
		r.last = string(f.ID)
		return true, r.answer.add(r.ctx, f)
	})
}

// inPages sends a batch before it looks for the next.
func (r *featureSearch) inPages(p *pacer) error {
	r.q.After = r.after.id
	if r.c.Several() {
		return r.inOne()
	}
	for {
		before, cut := r.answer.n, false
		if r.limit > 0 {
			r.q.Limit = r.limit - r.answer.n + 1
		}
		err := search(r.ctx, r.c, r.q, func(f *store.Found) (bool, error) {
			if r.answer.n == r.limit && r.limit > 0 {
				r.more = true
				return false, nil
			}
			// The next search finds the first feature of the next batch again.
			if cut = r.answer.n > before && r.answer.fullBatch(); cut {
				return false, nil
			}
			r.last = string(f.ID)
			return true, r.answer.add(r.ctx, f)
		})
		if err != nil || !cut {
			return err
		}
		p.end() // The client may read slowly.
		if err := r.answer.send(r.ctx, r.stream); err != nil {
			return err
		}
		if err := p.pace(); err != nil {
			return err
		}
		r.q.After = r.last
	}
}

// inOne is inPages of several groups: what they have found is in this member's memory, and may
// wait for the client.
func (r *featureSearch) inOne() error {
	if r.limit > 0 {
		r.q.Limit = r.limit + 1
	}
	return search(r.ctx, r.c, r.q, func(f *store.Found) (bool, error) {
		if r.answer.n == r.limit && r.limit > 0 {
			r.more = true
			return false, nil
		}
		if r.answer.n > 0 && r.answer.fullBatch() {
			if err := r.answer.send(r.ctx, r.stream); err != nil {
				return false, err
			}
		}
		r.last = string(f.ID)
		return true, r.answer.add(r.ctx, f)
	})
}

func tooManyFeatures(most int) error {
	return &limitError{
		reason: ReasonResultTooLarge, limit: int64(most),
		text: fmt.Sprintf("answer exceeds this server's limit of %d features; "+
			"ask for fewer, for a smaller area, or in the order of ids", most),
	}
}

// byDistance finds the nearest features of an area.
func (r *featureSearch) byDistance() error {
	from := r.req.GetFrom()
	if from == nil {
		circle := r.req.GetQuery().GetArea().GetCircle()
		if circle == nil {
			return &fieldError{"from", ReasonBadField, errors.New("required, unless the area is a circle")}
		}
		from = &catfishv1.Point{X: circle.GetX(), Y: circle.GetY()}
	}
	if r.q.Area == nil {
		return &fieldError{"query.area", ReasonBadField, errors.New("required in an order by distance; see Nearest")}
	}
	k := ranking{features: r.features, answer: &r.answer, limit: r.limit, after: &r.after}
	if err := k.from(r.c, "from", from); err != nil {
		return err
	}
	if err := k.search(r.ctx, r.c, r.q); err != nil {
		return err
	}
	r.more, r.last, r.after.distance = k.more, k.last.id, k.last.distance
	return nil
}
