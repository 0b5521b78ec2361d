package client

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// moreProcs sets GOMAXPROCS for a test whose workers spin.
func moreProcs(t testing.TB, n int) {
	was := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
}

// TestWorkerPerConnection: each connection has a worker, which serves only it,
// sends its heartbeats, and ends with it; the stats keep the worker's counts.
func TestWorkerPerConnection(t *testing.T) {
	moreProcs(t, 16)
	for _, tr := range oneSided {
		for _, policy := range []string{"fast", "fast-polling", "fast-polling-cq"} {
			t.Run(tr+"/"+policy, func(t *testing.T) {
				s := startServer(t, server.Options{WorkerPerConnection: true, Transports: []string{tr}})
				stats := func() model.TransportStats { return s.Stats().Transports[0] }
				if st := stats(); len(st.Workers) != 0 || st.Workers == nil { // nil is null in JSON
					t.Fatalf("workers %#v without a connection, want an empty list", st.Workers)
				}
				const clients, searches = 5, 20
				var conns []*Client
				for range clients {
					c := dial(t, s, Options{Transport: tr, Policy: policy})
					for range searches {
						if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
							t.Fatal(err)
						}
					}
					conns = append(conns, c)
				}
				for i, c := range conns {
					eventually(t, "a heartbeat", func() bool {
						if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
							t.Fatal(err)
						}
						_, ok := c.conn.mailbox().Take()
						return ok
					})
					st := stats()
					if len(st.Workers) != clients || st.Workers[i].Connected != 1 || st.Workers[i].Requests < searches {
						t.Fatalf("worker %d: %+v", i, st)
					}
				}
				for i, c := range conns {
					before := workOf(s)
					c.Close()
					eventually(t, "its worker ends", func() bool { return stats().EndedWorkers == i+1 })
					st := stats()
					if len(st.Workers) != clients-i-1 || st.Connections != clients-i-1 || st.Ended.Requests < uint64(i+1)*searches {
						t.Fatalf("after %d clients left: %+v", i+1, st)
					}
					// Busy is an estimate while a worker works, and may go back. Sums of seconds are
					// rounded.
					if after := workOf(s); after.Requests < before.Requests || after.Busy == 0 ||
						after.Spun < before.Spun-1e-9 || after.BytesOut < before.BytesOut {
						t.Errorf("work went back from %+v to %+v", before, after)
					}
				}
			})
		}
	}
}

// TestPausedConnectionWorkers: while workers are paused, workers of new
// connections are paused, too.
func TestPausedConnectionWorkers(t *testing.T) {
	moreProcs(t, 8)
	for _, p := range append(pollingPaths(), path{transport: oneSided[0], policy: "fast"}) {
		opts := server.Options{WorkerPerConnection: true, Transports: []string{p.transport}}
		s, other := startServer(t, opts), startServer(t, opts)
		dial(t, s, p.options()).Close()
		eventually(t, "its worker has ended", func() bool { return s.Stats().Transports[0].EndedWorkers == 1 })
		s.PauseWorkers()
		dialled := make(chan *Client, 1)
		go func() {
			opts := p.options()
			opts.Logger, opts.DialTimeout = quiet(), time.Minute // The searches below may take long.
			c, err := Dial(context.Background(), s.Addr(), opts) // sends an open
			if err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			dialled <- c
		}()
		eventually(t, "a worker for it", func() bool { return len(s.Stats().Transports[0].Workers) == 1 })
		// A paused worker does not show that it has the request: another server,
		// which is not paused, shows that the time was enough to answer it.
		for range 3 {
			c := dial(t, other, p.options())
			for range 100 {
				if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
		}
		select {
		case c := <-dialled:
			t.Errorf("%s: a paused worker answers", p.name)
			dialled <- c
		default:
		}
		s.ResumeWorkers()
		if c := <-dialled; c != nil {
			if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
			c.Close()
		}
		s.Close()
		other.Close()
	}
}

// workOf is the work of all workers of a server, also of those that ended.
func workOf(s *server.Server) (w model.WorkerStats) {
	for _, t := range s.Stats().Transports {
		for _, one := range append(t.Workers, t.Ended) {
			w.Requests += one.Requests
			w.BytesOut += one.BytesOut
			w.Busy += one.Busy
			w.Spun += one.Spun
		}
	}
	return w
}
