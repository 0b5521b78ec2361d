package attack

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// honest is a client that asks periodically, and knows the right answers.
type honest struct {
	name  string
	every time.Duration // least time between requests
	ask   func(context.Context) error
	close func()

	slower time.Duration // factor by which it asks less often than Config.Rate; 0: 1
	record
}

// askTimeout is the time after which a request has failed for the client.
const askTimeout = 30 * time.Second

// run asks until ctx is done.
func (h *honest) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		begun := time.Now()
		call, cancel := context.WithTimeout(ctx, askTimeout)
		err := h.ask(call)
		cancel()
		if ctx.Err() == nil {
			h.note(time.Since(begun), err)
		}
	}
}

// newHonest connects the clients of every measurement: readers over each
// transport, one of which chooses its path, and one that writes.
func newHonest(ctx context.Context, t Target, qs []question, rate float64) (all []*honest, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
		}
	}()
	for _, o := range []struct{ name, transport, policy string }{
		{"shm", "shm", "fast"}, {"shm, default policy", "shm", ""},
		{"shm, fetch", "shm", "fetch"}, {"soft, fetch", "soft", "fetch"},
		{"soft", "soft", "fast"}, {"plain sockets", "tcp", "tcp"}, {writer, "shm", "fast"},
	} {
		c, err := catfish.Dial(ctx, t.Addr, catfish.Options{
			Transport: o.transport, Policy: o.policy, Logger: discard(), DialTimeout: patience,
		})
		if err != nil {
			return all, fmt.Errorf("attack: client over %s: %w", o.name, err)
		}
		h := &honest{name: o.name, ask: func(ctx context.Context) error { return askClient(ctx, c, qs) }}
		if o.name == writer {
			h.ask = func(ctx context.Context) error { return write(ctx, c) }
		}
		h.close = func() { c.Close() }
		all = append(all, h)
	}
	conn, err := grpc.NewClient("passthrough:///"+t.GRPC, grpc.WithTransportCredentials(t.credentials()))
	if err != nil {
		return all, fmt.Errorf("attack: %w", err)
	}
	g := catfishv1.NewCatfishServiceClient(conn)
	all = append(all, &honest{
		name: "gRPC", ask: func(ctx context.Context) error { return askGRPC(ctx, g, qs) },
		close: func() { conn.Close() },
	})
	for _, h := range all {
		h.every = time.Duration(float64(time.Second) / rate)
		if h.name == writer {
			h.every *= writes
		}
	}
	return all, nil
}

func closeAll(all []*honest) {
	for _, h := range all {
		h.close()
	}
}

func check(q *question, got answer) error {
	if got != q.want {
		return fmt.Errorf("%w: %d objects in %v, want %d", errWrong, got.Count, q.rect, q.want.Count)
	}
	return nil
}

func askClient(ctx context.Context, c *catfish.Client, qs []question) error {
	q := &qs[rand.IntN(len(qs))]
	items, err := c.Search(ctx, q.rect)
	if err != nil {
		return err
	}
	var got answer
	for _, it := range items {
		got.add(it.ID)
	}
	return check(q, got)
}

func askGRPC(ctx context.Context, c catfishv1.CatfishServiceClient, qs []question) error {
	q := &qs[rand.IntN(len(qs))]
	stream, err := c.Search(ctx, &catfishv1.SearchRequest{Query: rectProto(q.rect)})
	if err != nil {
		return err
	}
	var got answer
	for {
		m, err := stream.Recv()
		if err == io.EOF {
			return check(q, got)
		}
		if err != nil {
			return err
		}
		for _, it := range m.GetItems() {
			got.add(it.GetId())
		}
	}
}

// writer is the client that calls write, which makes this number of requests.
const (
	writer = "shm, writes"
	writes = 3
)

// write inserts an object outside of all questions, finds it, and deletes it.
func write(ctx context.Context, c *catfish.Client) error {
	id := rand.Uint64()
	x := 10 + rand.Float64()
	r := rstar.Rect{MinX: x, MinY: x, MaxX: x, MaxY: x}
	if err := c.Insert(ctx, r, id); err != nil {
		return err
	}
	items, err := c.Search(ctx, r)
	if err != nil {
		return err
	}
	found := 0
	for _, it := range items {
		if it.ID == id {
			found++
		}
	}
	was, err := c.Delete(ctx, r, id)
	if err != nil {
		return err
	}
	if found != 1 || !was {
		return fmt.Errorf("%w: found an object %d times after its insert, deleted: %t", errWrong, found, was)
	}
	return nil
}

// newcomers are clients that dial, ask once and disconnect, over each transport.
func newcomers(t Target, qs []question) *honest {
	ways := []catfish.Options{
		{Transport: "auto"}, {Transport: "shm"}, {Transport: "soft"}, {Transport: "tcp"},
		{Transport: "shm", Policy: "fetch"}, {Transport: "soft", Policy: "fetch"},
	}
	n := 0
	return &honest{name: "new clients", every: 100 * time.Millisecond, close: func() {}, ask: func(ctx context.Context) error {
		n++
		o := ways[n%len(ways)]
		o.Logger = discard()
		c, err := catfish.Dial(ctx, t.Addr, o)
		if err != nil {
			return fmt.Errorf("%s %s: %w", o.Transport, o.Policy, err)
		}
		defer c.Close()
		return askClient(ctx, c, qs)
	}}
}

// uploads are collections that are created, filled by gRPC, counted and dropped.
func uploads(ctx context.Context, t Target) (*honest, error) {
	manager, err := catfish.Dial(ctx, t.Addr, catfish.Options{Transport: "tcp", Logger: discard()})
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	conn, err := grpc.NewClient("passthrough:///"+t.GRPC, grpc.WithTransportCredentials(t.credentials()))
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	g := catfishv1.NewCatfishServiceClient(conn)
	return &honest{
		name: "uploads", every: 500 * time.Millisecond,
		ask:   func(ctx context.Context) error { return upload(ctx, manager, g) },
		close: func() { conn.Close(); manager.Close() },
	}, nil
}

// uploaded is the number of objects of an honest upload.
const uploaded = 2000

func upload(ctx context.Context, manager *catfish.Client, g catfishv1.CatfishServiceClient) error {
	name := fmt.Sprintf("upload-%x", rand.Uint64())
	if err := manager.CreateCollection(ctx, name); err != nil {
		return err
	}
	stream, err := g.Load(ctx)
	m := &catfishv1.LoadRequest{Collection: name}
	for n := range uploaded {
		x := float64(n)
		m.Items = append(m.Items, &catfishv1.Item{
			Id: uint64(n), Rect: rectProto(rstar.Rect{MinX: x, MinY: x, MaxX: x, MaxY: x}),
		})
	}
	if err == nil {
		// CloseAndRecv returns Send's error, too.
		_ = stream.Send(m)
		_, err = stream.CloseAndRecv()
	}
	var got *catfishv1.CountResponse
	if err == nil {
		got, err = g.Count(ctx, &catfishv1.CountRequest{Collection: name, Query: rectProto(everything)})
	}
	if _, derr := manager.DropCollection(ctx, name); err == nil {
		err = derr
	}
	if err == nil && got.GetCount() != uploaded {
		err = fmt.Errorf("%w: %d objects after an upload of %d", errWrong, got.GetCount(), uploaded)
	}
	return err
}
