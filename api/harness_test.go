package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a rectangle that intersects every object of these tests.
var world = rstar.Rect{MinX: -10, MinY: -10, MaxX: 10, MaxY: 10}

// client is a connection to a server of its own.
type client struct {
	catfishv1.CatfishServiceClient
	conn   *grpc.ClientConn
	server *Server
	addr   string // empty on a bufconn
}

// startBufconn serves b over an in-memory connection until the test ends.
func startBufconn(t testing.TB, b Backend, opts ...Option) client {
	t.Helper()
	l := bufconn.Listen(64 << 10)
	dial := grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			return l.DialContext(ctx)
		})
	return start(t, l, "passthrough:bufconn", b, opts, dial)
}

// startLoopback serves b over TCP until the test ends.
func startLoopback(t testing.TB, b Backend, opts ...Option) client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, l, l.Addr().String(), b, opts)
	c.addr = l.Addr().String()
	return c
}

func start(t testing.TB, l net.Listener, target string, b Backend,
	opts []Option, dial ...grpc.DialOption,
) client {
	t.Helper()
	srv := NewServer(b, opts...)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	conn, err := grpc.NewClient(target, append(dial,
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		srv.Stop()
		// A test may stop the server before Serve has begun.
		if err := <-served; err != nil &&
			!errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	})
	return client{CatfishServiceClient: catfishv1.NewCatfishServiceClient(conn),
		conn: conn, server: srv}
}

// testContext ends a call that hangs long before the test binary does.
func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func pbRect(r rstar.Rect) *catfishv1.Rect {
	return &catfishv1.Rect{
		MinX: r.MinX, MinY: r.MinY, MaxX: r.MaxX, MaxY: r.MaxY,
	}
}

func goRect(r *catfishv1.Rect) rstar.Rect {
	return rstar.Rect{
		MinX: r.GetMinX(), MinY: r.GetMinY(),
		MaxX: r.GetMaxX(), MaxY: r.GetMaxY(),
	}
}

func pbItem(it rstar.Item) *catfishv1.Item {
	return &catfishv1.Item{Id: it.ID, Rect: pbRect(it.Rect)}
}

func goItem(it *catfishv1.Item) rstar.Item {
	return rstar.Item{Rect: goRect(it.GetRect()), ID: it.GetId()}
}

// randomItems returns n rectangles with edges up to 0.1 in the unit square.
func randomItems(rng *rand.Rand, n int) []rstar.Item {
	items := make([]rstar.Item, n)
	for i := range items {
		x, y := rng.Float64(), rng.Float64()
		items[i] = rstar.Item{ID: uint64(i), Rect: rstar.Rect{
			MinX: x, MinY: y,
			MaxX: x + rng.Float64()/10, MaxY: y + rng.Float64()/10,
		}}
	}
	return items
}

// search returns the whole answer, sorted by id.
func (c client) search(ctx context.Context, req *catfishv1.SearchRequest) (
	[]rstar.Item, error,
) {
	stream, err := c.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	var items []rstar.Item
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			sortByID(items)
			return items, nil
		}
		if err != nil {
			return items, err
		}
		if n := len(m.GetItems()); n == 0 || n > BatchItems {
			return nil, errors.New("batch of a wrong size")
		}
		for _, it := range m.GetItems() {
			items = append(items, goItem(it))
		}
	}
}

// nearest returns the whole answer in order.
func (c client) nearest(ctx context.Context, req *catfishv1.NearestRequest) (
	[]rstar.Neighbor, error,
) {
	stream, err := c.Nearest(ctx, req)
	if err != nil {
		return nil, err
	}
	var near []rstar.Neighbor
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return near, nil
		}
		if err != nil {
			return near, err
		}
		for _, n := range m.GetNeighbors() {
			near = append(near, rstar.Neighbor{Item: goItem(n.GetItem()), Dist: n.GetDistance()})
		}
	}
}

// searchMany returns the answers by query, each sorted by id.
func (c client) searchMany(ctx context.Context, req *catfishv1.SearchManyRequest) (
	[][]rstar.Item, error,
) {
	stream, err := c.SearchMany(ctx, req)
	if err != nil {
		return nil, err
	}
	answers := make([][]rstar.Item, len(req.GetQueries()))
	last := uint32(0)
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			for _, items := range answers {
				sortByID(items)
			}
			return answers, nil
		}
		if err != nil {
			return answers, err
		}
		n := len(m.GetItems())
		if n == 0 || n > BatchItems || len(m.GetQueries()) != n {
			return nil, errors.New("batch of a wrong size")
		}
		for i, it := range m.GetItems() {
			q := m.GetQueries()[i]
			if q < last || int(q) >= len(answers) {
				return nil, fmt.Errorf("query %d after %d of %d", q, last, len(answers))
			}
			last = q
			answers[q] = append(answers[q], goItem(it))
		}
	}
}

// load uploads in batches of size batch.
func (c client) load(ctx context.Context, collection string,
	items []rstar.Item, batch int,
) (*catfishv1.LoadResponse, error) {
	stream, err := c.Load(ctx)
	if err != nil {
		return nil, err
	}
	// An error of Send means that the server has already answered.
	err = stream.Send(&catfishv1.LoadRequest{Collection: collection})
	for part := range slices.Chunk(items, batch) {
		if err != nil {
			break
		}
		err = stream.Send(loadRequest(part))
	}
	return stream.CloseAndRecv()
}

func loadRequest(items []rstar.Item) *catfishv1.LoadRequest {
	m := &catfishv1.LoadRequest{}
	for _, it := range items {
		m.Items = append(m.Items, pbItem(it))
	}
	return m
}

func sortByID(items []rstar.Item) {
	slices.SortFunc(items, func(a, b rstar.Item) int {
		return int(int64(a.ID) - int64(b.ID))
	})
}
