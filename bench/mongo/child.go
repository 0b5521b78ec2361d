package mongo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/catfish-index/catfish/bench/features"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
)

// The roles of children.
const (
	ServerRole child.Role = "mongo-server"
	ClientRole child.Role = "mongo-client"
)

// collection has the documents.
const collection = "documents"

// serverJob is the first line of a server child.
type serverJob struct {
	Transports []string `json:"transports"`
}

// ServerMain runs a server child, whose store is in memory: it is ready with its address.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer) error {
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, j serverJob, _ func(string)) (h harness.Served[any], err error) {
		opts := catfish.ServerOptions{
			Features: map[string]catfish.FeaturesOptions{collection: {}}, Transports: []string{}, // Plain sockets are always served.
			Logger: slog.New(slog.DiscardHandler),
		}
		for _, t := range j.Transports {
			if t != catfish.TransportTCP {
				opts.Transports = append(opts.Transports, t)
			}
		}
		s, err := catfish.NewServer(opts)
		if err != nil {
			return h, err
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx) }()
		return harness.Served[any]{
			Ready:  s.Addr(),
			Answer: func(context.Context, any) (any, error) { return nil, nil },
			Close: func() {
				s.Close()
				if err := <-served; err != nil {
					fmt.Fprintln(os.Stderr, err) // The parent shows it if this child fails.
				}
			},
		}, nil
	})
}

// clientJob is the first line of a client child.
type clientJob struct {
	features.DataJob
	Addr string `json:"addr"`
}

// command is a later one: a run.
type command struct {
	Transport string `json:"transport"`
	Threads   int    `json:"threads"`
	Each      int    `json:"each"`
}

// ClientMain runs the child with the clients, which its parent commands as it does a server.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	return harness.ServerMain(ctx, in, out, func(_ context.Context, j clientJob, _ func(string)) (h harness.Served[command], err error) {
		data, err := features.Open(j.DataJob)
		if err != nil {
			return h, err
		}
		return harness.Served[command]{
			Answer: func(ctx context.Context, c command) (any, error) { return run(ctx, j.Addr, data, c) },
			Close:  func() {},
		}, nil
	})
}

// run connects, makes documents and deletes them.
func run(ctx context.Context, addr string, data *features.Data, c command) (map[string]*Sample, error) {
	opts := catfish.Options{
		Transport: c.Transport, Policy: "fast", Logger: slog.New(slog.DiscardHandler),
		DialTimeout: time.Minute, // Dialing is not measured, and is slow on a busy machine.
	}
	if c.Transport == catfish.TransportTCP {
		opts.Policy = "tcp"
	}
	clients, err := harness.DialAll(c.Threads, func(int) (*catfish.Client, error) { return catfish.Dial(ctx, addr, opts) })
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, c := range clients {
			_ = c.Close() // All is measured already.
		}
	}()
	threads := make([]*thread, c.Threads)
	for i, client := range clients {
		f, err := client.Features(collection)
		if err != nil {
			return nil, err
		}
		threads[i] = newThread(f, data, i*c.Each, c.Each)
		if err := threads[i].warmUp(ctx); err != nil {
			return nil, fmt.Errorf("warm-up over %s: %w", c.Transport, err)
		}
	}
	of, out := threads[0].f, map[string]*Sample{}
	for _, work := range Works {
		if out[work], err = measure(ctx, threads, work); err != nil {
			return nil, fmt.Errorf("%s over %s: %w", work, c.Transport, err)
		}
		want := c.Threads * c.Each
		if work == Delete {
			want = 0
		}
		if n, err := of.Count(ctx, catfish.FeatureQuery{}); err != nil || n != want {
			return nil, fmt.Errorf("%w: %d documents after %s over %s, want %d (%w)", ErrWrong, n, work, c.Transport, want, err)
		}
	}
	return out, nil
}
