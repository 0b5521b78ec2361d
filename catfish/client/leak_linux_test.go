package client

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// used counts this process's descriptors and goroutines.
func used(t *testing.T) (fds, goroutines int) {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e), runtime.NumGoroutine()
}

// TestReconnectsDoNotLeak: after fifty restarts of its server a client
// holds as much as after five.
func TestReconnectsDoNotLeak(t *testing.T) {
	const warm, restarts = 5, 50
	for _, p := range []path{
		{name: "tcp", transport: model.TransportTCP, policy: "tcp"},
		{name: "shm", transport: model.TransportSHM, policy: "offload"},
		{name: "soft", transport: model.TransportSoft, policy: "offload"},
		{name: "shm/fetch", transport: model.TransportSHM, policy: "fetch"},
		{name: "soft/fetch", transport: model.TransportSoft, policy: "fetch"},
	} {
		t.Run(p.name, func(t *testing.T) {
			opts := server.Options{Listen: ownAddr(), SocketPath: filepath.Join(t.TempDir(), "s"), SlabBytes: 1 << 20, Workers: 1, Logger: quiet()}
			run := func() (stop func()) {
				s, err := server.NewServer(opts)
				if err != nil {
					t.Fatal(err)
				}
				opts.Listen = s.Addr()
				done := make(chan error, 1)
				go func() { done <- s.Serve(context.Background()) }()
				return func() {
					s.Close()
					if err := <-done; err != nil {
						t.Errorf("Serve: %v", err)
					}
				}
			}
			stop := run()
			o := p.options()
			o.Logger = quiet()
			c, err := Dial(t.Context(), opts.Listen, o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var fds, goroutines int
			for i := range restarts {
				if i == warm {
					fds, goroutines = used(t)
				}
				stop()
				stop = run()
				if _, err := c.Search(t.Context(), square(0, 0)); !errors.Is(err, model.ErrRestarted) {
					t.Fatalf("restart %d: %v", i, err)
				}
				if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
					t.Fatalf("restart %d: %v", i, err)
				}
				if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
					t.Fatalf("restart %d: %v", i, err)
				}
			}
			// The last session's resources may take a moment to end. One
			// leak in each restart would be nine times the slack.
			const slack = 5
			for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
				f, g := used(t)
				if f <= fds+slack && g <= goroutines+slack {
					break
				}
				if time.Now().After(end) {
					t.Errorf("%d descriptors and %d goroutines after %d restarts, %d and %d after %d",
						f, g, restarts, fds, goroutines, warm)
					break
				}
			}
			stop()
		})
	}
}

// TestConnectionWorkersDoNotLeak: after a hundred clients have come and gone, a
// server with a worker per connection holds as much as after ten.
func TestConnectionWorkersDoNotLeak(t *testing.T) {
	const warm, clients = 10, 50
	for _, p := range append(pollingPaths(), path{name: "shm", transport: model.TransportSHM, policy: "fast"},
		path{name: "shm/fetch", transport: model.TransportSHM, policy: "fetch"}) {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, server.Options{WorkerPerConnection: true, Transports: []string{p.transport}})
			var fds, goroutines int
			for i := range clients {
				if i == warm {
					fds, goroutines = used(t)
				}
				c := dial(t, s, p.options())
				if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
					t.Fatal(err)
				}
				c.Close()
				eventually(t, "its worker ends", func() bool {
					st := s.Stats().Transports[0]
					return st.EndedWorkers == i+1 && len(st.Workers) == 0
				})
			}
			const slack = 5
			eventually(t, "no more descriptors and goroutines than after ten clients", func() bool {
				f, g := used(t)
				return f <= fds+slack && g <= goroutines+slack
			})
		})
	}
}
