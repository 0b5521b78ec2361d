package api

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

type loadStream = grpc.ClientStreamingServer[
	catfishv1.LoadRequest, catfishv1.LoadResponse]

// Load receives everything, then stores it. Nothing is stored of a stream
// that ends early, so a client whose upload failed may simply repeat it. Once
// the collection has been found, every error has a LoadResponse as detail.
func (s *service) Load(stream loadStream) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return statusOf("", &fieldError{"collection", ReasonBadField,
			errors.New("the stream ended before its first message")})
	}
	if err != nil {
		return statusOf("", streamError(ctx, err))
	}
	c, name, err := s.collection(ctx, first.GetCollection())
	if err != nil {
		return err
	}

	u := upload{service: s, name: name}
	defer u.release()
	err = u.receive(stream, first)
	done := &catfishv1.LoadResponse{Received: uint64(len(u.items))}
	if err == nil {
		err = store(ctx, c, u.items, done)
	}
	if err != nil {
		return statusOf(name, err, done)
	}
	return stream.SendAndClose(done)
}

// upload is what one Load has received.
type upload struct {
	*service
	name  string
	items []rstar.Item
	held  int64 // our share of service.loading
}

// receive checks and keeps all objects up to the end of the stream.
func (u *upload) receive(stream loadStream, m *catfishv1.LoadRequest) error {
	for {
		if n := m.GetCollection(); n != "" && n != u.name {
			return &fieldError{"collection", ReasonBadField,
				fmt.Errorf("is %.*q, but the first message said %q",
					MaxNameBytes, n, u.name)}
		}
		if err := u.add(m.GetItems()); err != nil {
			return err
		}
		var err error
		if m, err = stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return streamError(stream.Context(), err)
		}
	}
}

func (u *upload) add(items []*catfishv1.Item) error {
	if err := u.hold(int64(len(items))); err != nil {
		return err
	}
	for i, p := range items {
		r, err := rectOf("rect", p.GetRect())
		var bad *fieldError
		if errors.As(err, &bad) {
			bad.field = fmt.Sprintf("items[%d].rect", i)
			bad.err = fmt.Errorf("object %d of the stream (id %d): %w",
				len(u.items), p.GetId(), bad.err)
			return bad
		}
		u.items = append(u.items, rstar.Item{Rect: r, ID: p.GetId()})
	}
	return nil
}

// hold reserves room for n more objects in the budget of all uploads.
func (u *upload) hold(n int64) error {
	limit := int64(u.options.maxLoadItems)
	if u.held+n > limit {
		return &limitError{
			reason: ReasonLoadTooLarge, limit: limit,
			text: fmt.Sprintf("upload exceeds this server's limit of %d "+
				"objects; divide it", limit),
		}
	}
	if u.loading.Add(n) > limit {
		u.loading.Add(-n)
		return &limitError{
			reason: ReasonLoadBusy, limit: limit, retryAfter: busyRetry,
			text: fmt.Sprintf("uploads in progress hold this server's "+
				"limit of %d objects; repeat later", limit),
		}
	}
	u.held += n
	return nil
}

func (u *upload) release() { u.loading.Add(-u.held) }

// store puts the items into c and counts them in done. It checks ctx once per
// batch of inserts; a bulk load is not interrupted.
func store(ctx context.Context, c Collection, items []rstar.Item,
	done *catfishv1.LoadResponse,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.Load(items)
	if err == nil {
		done.Loaded, done.Bulk = uint64(len(items)), true
		return nil
	}
	if !errors.Is(err, rstar.ErrNotEmpty) {
		return err
	}
	for i, it := range items {
		if i%BatchItems == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := c.Insert(it.Rect, it.ID); err != nil {
			return fmt.Errorf("%d of %d objects were stored, then: %w",
				done.Loaded, len(items), err)
		}
		done.Loaded++
	}
	return nil
}

// streamError returns the reason why the call ended, if there is one, in
// preference to how the stream noticed it.
func streamError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
