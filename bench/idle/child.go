package idle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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

// command is a later line: exactly one field is set.
type command struct {
	Measure bool `json:"measure,omitempty"`
	Collect bool `json:"collect,omitempty"` // measure, after a collection
	Dial    bool `json:"dial,omitempty"`    // client
	Search  bool `json:"search,omitempty"`  // client: one connection searches, from now on
}

// answer is a child's line.
type answer struct {
	Addr string `json:"addr,omitempty"` // server
	Held *Held  `json:"held,omitempty"`
	Done bool   `json:"done,omitempty"`
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

// ServerMain runs a server child.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	p := child.NewPipe(in, out)
	var j job
	if err := p.Read(&j); err != nil {
		return p.Fail(err)
	}
	raiseFiles(j.Clients)
	opts := catfish.ServerOptions{Logger: slog.New(slog.DiscardHandler)}
	if j.Transport != catfish.TransportTCP {
		opts.Transports = []string{j.Transport}
	} else {
		opts.Transports = []string{} // Plain sockets are always served.
	}
	s, err := catfish.NewServer(opts)
	if err != nil {
		return p.Fail(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	defer func() {
		s.Close()
		if err := <-served; err != nil {
			_ = p.Fail(err)
		}
	}()
	if err := p.Write(answer{Addr: s.Addr()}); err != nil {
		return err
	}
	for {
		var c command
		if err := p.Read(&c); err != nil {
			return p.Fail(err)
		}
		h, err := hold(began, c.Collect)
		if err != nil {
			return p.Fail(err)
		}
		if err := p.Write(answer{Held: &h}); err != nil {
			return err
		}
	}
}

// ClientMain runs a child that has some of the connections.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	began := time.Now()
	p := child.NewPipe(in, out)
	var j job
	if err := p.Read(&j); err != nil {
		return p.Fail(err)
	}
	raiseFiles(j.Clients)
	ctx, cancel := context.WithCancel(ctx)
	var searching sync.WaitGroup
	var clients []*catfish.Client
	defer func() {
		cancel()
		searching.Wait()
		for _, c := range clients {
			c.Close()
		}
	}()
	failed := make(chan error, 1)
	for {
		var c command
		if err := p.Read(&c); err != nil {
			return p.Fail(err)
		}
		a := answer{Done: true}
		switch {
		case c.Dial:
			var err error
			if clients, err = dial(ctx, j); err != nil {
				return p.Fail(err)
			}
		case c.Search:
			searching.Go(func() {
				if err := search(ctx, clients[0]); err != nil {
					failed <- err
				}
			})
		default:
			h, err := hold(began, c.Collect)
			if err != nil {
				return p.Fail(err)
			}
			a.Held = &h
		}
		select {
		case err := <-failed:
			return p.Fail(err)
		default:
		}
		if err := p.Write(a); err != nil {
			return err
		}
	}
}

// dialAtOnce is how many connections are opened at a time: each waits for the
// server.
const dialAtOnce = 16

// dial returns the connections that are open, also with an error.
func dial(ctx context.Context, j job) ([]*catfish.Client, error) {
	opts := catfish.Options{
		Transport: j.Transport, Policy: j.Policy, Logger: slog.New(slog.DiscardHandler),
		// Dialing is not measured, and is slow on a busy machine.
		DialTimeout: time.Minute,
	}
	if j.Transport == catfish.TransportTCP {
		opts.Policy = "tcp"
	}
	var (
		mu      sync.Mutex
		clients []*catfish.Client
		first   error
		group   sync.WaitGroup
		slots   = make(chan struct{}, dialAtOnce)
	)
	for range j.Clients {
		slots <- struct{}{}
		mu.Lock()
		stop := first != nil
		mu.Unlock()
		if stop {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			c, err := catfish.Dial(ctx, j.Addr, opts)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				clients = append(clients, c)
			} else if first == nil {
				first = err
			}
		})
	}
	group.Wait()
	if first != nil {
		first = fmt.Errorf("connection %d of %d in this process: %w", len(clients)+1, j.Clients, first)
	}
	return clients, first
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
