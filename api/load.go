package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

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
	u := upload{service: s, call: callOf(ctx)}
	u.account = s.loads.Open(sourceOf(ctx), func(err error) {
		u.call.end(overBudget(s.loads, ReasonLoadBusy, loadRetry, err))
	})
	defer u.account.Close()
	// Reserve room for one message, wherever the objects go.
	message := decodedRatio * int64(s.options.maxMessageBytes)
	if err := u.take(message); err != nil {
		return statusOf("", err)
	}
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

	u.name = name
	err = u.receive(stream, first)
	u.account.Give(message)
	done := &catfishv1.LoadResponse{Received: uint64(len(u.items))}
	if err == nil {
		err = u.store(ctx, c, done)
	}
	if err != nil {
		return statusOf(name, err, done)
	}
	return stream.SendAndClose(done)
}

// store puts the objects into c and counts them in done. It checks ctx once per
// batch of inserts; a bulk load is not interrupted.
func (u *upload) store(ctx context.Context, c Collection,
	done *catfishv1.LoadResponse,
) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	items := u.items
	b, several, err := u.options.groups.Boxes(u.name)
	if err != nil {
		return err
	}
	if c.Len() == 0 && !several {
		n := sortBytes * int64(len(items))
		if err := u.take(n); err != nil {
			return err
		}
		err := c.Load(items)
		u.account.Give(n)
		if err == nil {
			done.Loaded, done.Bulk = uint64(len(items)), true
			return nil
		}
		if !errors.Is(err, rstar.ErrNotEmpty) {
			return err
		}
	}
	for some := range slices.Chunk(items, BatchItems) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := u.backend.Host.CheckMemory()
		if err == nil {
			var n int
			if several {
				n, err = b.Insert(ctx, some)
			} else {
				n, err = insert(c, some)
			}
			done.Loaded += uint64(n)
		}
		if err != nil {
			return fmt.Errorf("%d of %d objects were stored, then: %w",
				done.Loaded, len(items), err)
		}
	}
	return nil
}

// insert inserts objects one by one, or together where each insert would wait
// for the disk. It returns how many are stored.
func insert(c Collection, items []rstar.Item) (n int, err error) {
	if m, ok := c.(interface {
		InsertMany(items []rstar.Item) (int, error)
	}); ok {
		return m.InsertMany(items)
	}
	for _, it := range items {
		if err := c.Insert(it.Rect, it.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
