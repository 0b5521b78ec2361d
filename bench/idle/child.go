package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/rstar"
)

// The roles of children.
const (
	ServerRole child.Role = "idle-server"
	ClientRole child.Role = "idle-client"
)

// job is the first line that a child reads.
type job struct {
	Transport string `json:"transport"`
	Policy    string `json:"policy"`
	Addr      string `json:"addr"` // client: of the server
	Clients   int    `json:"clients"`
}

// command is a later line: exactly one field is set. Its answer is what the process holds.
type command struct {
	Measure bool `json:"measure,omitempty"`
	Collect bool `json:"collect,omitempty"` // measure, after a collection
	Dial    bool `json:"dial,omitempty"`    // client
	Search  bool `json:"search,omitempty"`  // client: one connection searches, from now on
}

// pace is the time between two searches of the client that keeps heartbeats
// going: the interval of these.
const pace = catfish.DefaultHeartbeatInterval

// raiseFiles raises the limit of descriptors to the needs of n connections and
// the rest of a process. Without the privilege a descriptor is refused later.
func raiseFiles(n int) {
	want := uint64(4*n + 1024)
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) == nil && l.Cur < want {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want, Max: max(l.Max, want)})
	}
}

// ServerMain runs a server child: it is ready with its address.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, j job, _ func(string)) (h harness.Served[command], err error) {
		raiseFiles(j.Clients)
		opts := catfish.ServerOptions{Logger: slog.New(slog.DiscardHandler)}
		if j.Transport != catfish.TransportTCP {
			opts.Transports = []string{j.Transport}
		} else {
			opts.Transports = []string{} // Plain sockets are always served.
		}
		s, err := catfish.NewServer(opts)
		if err != nil {
			return h, err
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx) }()
		return harness.Served[command]{
			Ready:  s.Addr(),
			Answer: func(_ context.Context, c command) (any, error) { return hold(began, c.Collect) },
			Close: func() {
				s.Close()
				if err := <-served; err != nil {
					fmt.Fprintln(os.Stderr, err) // The parent shows it if this child fails.
				}
			},
		}, nil
	})
}

// ClientMain runs a child that has some of the connections. Its parent commands it, as it
// does a server.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	var searching sync.WaitGroup
	var clients []*catfish.Client
	failed := make(chan error, 1)
	return harness.ServerMain(ctx, in, out, func(_ context.Context, j job, _ func(string)) (harness.Served[command], error) {
		raiseFiles(j.Clients)
		return harness.Served[command]{
			Answer: func(_ context.Context, c command) (_ any, err error) {
				switch {
				case c.Dial:
					clients, err = dial(ctx, j)
				case c.Search:
					searching.Go(func() {
						if err := search(ctx, clients[0]); err != nil {
							failed <- err
						}
					})
				}
				select {
				case err = <-failed:
				default:
				}
				if err != nil {
					return nil, err
				}
				return hold(began, c.Collect)
			},
			Close: func() {
				cancel()
				searching.Wait()
				for _, c := range clients {
					c.Close()
				}
			},
		}, nil
	})
}

func dial(ctx context.Context, j job) ([]*catfish.Client, error) {
	opts := catfish.Options{
		Transport: j.Transport, Policy: j.Policy, Logger: slog.New(slog.DiscardHandler),
		// Dialing is not measured, and is slow on a busy machine.
		DialTimeout: time.Minute,
	}
	if j.Transport == catfish.TransportTCP {
		opts.Policy = "tcp"
	}
	return harness.DialAll(j.Clients, func(i int) (*catfish.Client, error) {
		c, err := catfish.Dial(ctx, j.Addr, opts)
		if err != nil {
			return nil, fmt.Errorf("connection %d of %d in this process: %w", i+1, j.Clients, err)
		}
		return c, nil
	})
}

// search keeps a server awake until ctx is done.
func search(ctx context.Context, c *catfish.Client) error {
	t := time.NewTicker(pace)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if _, err := c.Search(ctx, rstar.Rect{MaxX: 1, MaxY: 1}); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
}
