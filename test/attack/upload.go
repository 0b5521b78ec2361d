package attack

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// dialGRPC makes a connection that comes from the attacker's host number i.
func (e *Enemy) dialGRPC(i int) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+e.target.GRPC,
		grpc.WithTransportCredentials(e.target.credentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: e.host(i)}}
			return d.DialContext(ctx, "tcp", addr)
		}))
}

func rectProto(r rstar.Rect) *catfishv1.Rect {
	return &catfishv1.Rect{MinX: r.MinX, MinY: r.MinY, MaxX: r.MaxX, MaxY: r.MaxY}
}

var grpcSearches = Attack{
	Name: "grpc-searches", shows: "calls", Slow: true,
	What: "concurrent searches for everything by gRPC, half of them never read",
	run: func(ctx context.Context, e *Enemy) error {
		calls := e.size(50, 6)
		return e.each(ctx, 2, func(ctx context.Context, i int) error {
			conn, err := e.dialGRPC(i)
			if err != nil {
				return err
			}
			defer conn.Close()
			c := catfishv1.NewCatfishServiceClient(conn)
			var wg sync.WaitGroup
			for n := range calls / 2 {
				wg.Go(func() { e.searchAll(ctx, c, n%2 == 0) })
			}
			wg.Wait()
			return errors.New("all ended")
		})
	},
}

// searchAll begins a search, and reads the answer or waits.
func (e *Enemy) searchAll(ctx context.Context, c catfishv1.CatfishServiceClient, read bool) {
	e.count("calls", 1)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream, err := c.Search(ctx, &catfishv1.SearchRequest{Query: rectProto(everything)})
	if err == nil && !read {
		_, err = stream.Recv()
		if err == nil {
			<-stream.Context().Done()
			return
		}
	}
	for err == nil {
		_, err = stream.Recv()
	}
	switch {
	case errors.Is(err, io.EOF):
		e.count("answers", 1)
	case status.Code(err) == codes.ResourceExhausted:
		e.count("refused", 1)
	default:
		e.count("call "+status.Code(err).String(), 1)
	}
}

var idleUploads = Attack{
	Name: "idle-uploads", shows: "uploads", Uploads: true,
	What: "uploads by gRPC that begin and do not go on",
	run: func(ctx context.Context, e *Enemy) error {
		return e.each(ctx, e.size(16, 3), func(ctx context.Context, i int) error {
			conn, err := e.dialGRPC(i)
			if err != nil {
				return err
			}
			defer conn.Close()
			stream, err := catfishv1.NewCatfishServiceClient(conn).Load(ctx)
			if err != nil {
				return err
			}
			e.count("uploads", 1)
			m := &catfishv1.LoadRequest{}
			for n := range 10_000 {
				x := 100 + float64(n)
				m.Items = append(m.Items, &catfishv1.Item{
					Id: uint64(n), Rect: rectProto(rstar.Rect{MinX: x, MinY: x, MaxX: x, MaxY: x}),
				})
			}
			for range e.size(100, 2) {
				if err := stream.Send(m); err != nil {
					break
				}
			}
			// It ends when the server stops waiting.
			err = stream.RecvMsg(&catfishv1.LoadResponse{})
			e.count("upload "+status.Code(err).String(), 1)
			return err
		})
	},
}

// readAnswer returns the kind of the next answer over a plain socket.
func readAnswer(r io.Reader) (byte, error) {
	var head [frameBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:])) - frameBytes
	_, err := io.CopyN(io.Discard, r, n)
	return head[4], err
}
