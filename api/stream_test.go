package api

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// handlerErrors makes a server report how its stream handlers ended, as the
// server sees it: a client whose deadline passed uses its own clock.
func handlerErrors() (<-chan error, Option) {
	ended := make(chan error, 100)
	return ended, WithGRPC(grpc.ChainStreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo,
			next grpc.StreamHandler,
		) error {
			err := next(srv, ss)
			ended <- err
			return err
		}))
}

// cancellations makes a server report when the context of a stream ended.
func cancellations() (<-chan struct{}, Option) {
	ended := make(chan struct{}, 100)
	return ended, WithGRPC(grpc.ChainStreamInterceptor(
		func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo,
			next grpc.StreamHandler,
		) error {
			defer context.AfterFunc(ss.Context(),
				func() { ended <- struct{}{} })()
			return next(srv, ss)
		}))
}

func await[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("%s did not happen within a minute", what)
		panic("unreachable")
	}
}

// manyItems are more than any flow-control window between client and server
// holds: about 5 MB on the wire.
func manyItems() []rstar.Item {
	return randomItems(rand.New(rand.NewPCG(5, 6)), 100_000)
}

// TestStreamEnds lets a client read one batch and stop: the server, blocked
// by its flow-control window, ends with the client's deadline or
// cancellation.
func TestStreamEnds(t *testing.T) {
	items := manyItems()
	for name, start := range transports {
		b := trees{"default": treeOf(t, items...)}.alone()
		t.Run(name+"/cancel", func(t *testing.T) {
			ended, opt := handlerErrors()
			c := start(t, b, opt)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := readOneBatch(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			checkEnd(t, codes.Canceled, stream, ended)
		})
		t.Run(name+"/deadline", func(t *testing.T) {
			// A busy machine may need longer for the first batch. Each try has
			// its own server, so the end of an earlier try's handler is not
			// taken for this one's.
			for d := 100 * time.Millisecond; ; d *= 2 {
				ended, opt := handlerErrors()
				c := start(t, b, opt)
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				stream, err := readOneBatch(ctx, c)
				if err == nil {
					checkEnd(t, codes.DeadlineExceeded, stream, ended)
					return
				}
				if status.Code(err) != codes.DeadlineExceeded ||
					d > 10*time.Second {
					t.Fatal(err)
				}
			}
		})
	}
}

type searchStream = grpc.ServerStreamingClient[catfishv1.SearchResponse]

func readOneBatch(ctx context.Context, c client) (searchStream, error) {
	stream, err := c.Search(ctx, &catfishv1.SearchRequest{
		Query: pbRect(world),
	})
	if err == nil {
		_, err = stream.Recv()
	}
	return stream, err
}

// checkEnd waits until both sides have ended with the code.
func checkEnd(t *testing.T, want codes.Code, stream searchStream,
	ended <-chan error,
) {
	t.Helper()
	// A client that gives up at its deadline also resets the stream,
	// which may reach the server before its own clock.
	err := await(t, "the handler's end", ended)
	if got := status.Code(err); got != want && got != codes.Canceled {
		t.Fatalf("the handler ended by %v, want %v", err, want)
	}
	for err = nil; err == nil; _, err = stream.Recv() {
	}
	if status.Code(err) != want {
		t.Fatalf("the client got %v, want %v", err, want)
	}
}

// TestSlowReader checks that a client that does not read blocks no other call
// to the collection, and gets its whole answer later, unchanged.
func TestSlowReader(t *testing.T) {
	col := treeOf(t, manyItems()...)
	want := allOf(col)
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			c := start(t, trees{"default": col}.alone())
			ctx := testContext(t)
			stream, err := c.Search(ctx, &catfishv1.SearchRequest{
				Query: pbRect(world),
			})
			if err != nil {
				t.Fatal(err)
			}
			first, err := stream.Recv()
			if err != nil {
				t.Fatal(err)
			}
			extra := rstar.Item{ID: 1 << 40}
			if _, err := c.Insert(ctx, &catfishv1.InsertRequest{
				Item: pbItem(extra),
			}); err != nil {
				t.Fatal(err)
			}
			if d, err := c.Delete(ctx, &catfishv1.DeleteRequest{
				Item: pbItem(extra),
			}); err != nil || !d.GetFound() {
				t.Fatal(d, err)
			}

			var got []rstar.Item
			for m := first; ; {
				for _, it := range m.GetItems() {
					got = append(got, goItem(it))
				}
				if m, err = stream.Recv(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			sortByID(got)
			if !slices.Equal(got, want) {
				t.Fatalf("%d objects, want the %d there were",
					len(got), len(want))
			}
		})
	}
}

// TestExpiredWrite sends writes whose deadline has passed when the server
// checks it: nothing is changed.
func TestExpiredWrite(t *testing.T) {
	col := treeOf(t)
	s := &service{backend: trees{"default": col}.alone(), options: newOptions(nil)}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := s.Insert(ctx, &catfishv1.InsertRequest{
		Item: pbItem(rstar.Item{ID: 1}),
	})
	if status.Code(err) != codes.DeadlineExceeded || col.Len() != 0 {
		t.Fatalf("%v, %d objects", err, col.Len())
	}
}
