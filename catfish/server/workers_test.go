package server

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/rdma"
)

// TestConnectionWorkersAreBounded: a client beyond the limit gets the reason as an
// error, and is served when another has disconnected.
func TestConnectionWorkersAreBounded(t *testing.T) {
	for _, tr := range oneSided {
		s, err := NewServer(Options{WorkerPerConnection: true, Transports: []string{tr}, SlabBytes: 16 << 20,
			SocketPath: t.TempDir() + "/s", Logger: quiet(), Fabric: testFabric})
		if err != nil {
			t.Fatal(err)
		}
		s.fabrics[0].workers.most = 2
		served := make(chan error, 1)
		go func() { served <- s.Serve(context.Background()) }()
		opts := client.Options{Transport: tr, Policy: "fast", Logger: quiet()}
		first := dial(t, s, opts)
		dial(t, s, opts)
		_, err = client.Dial(t.Context(), s.Addr(), opts)
		var reject *rdma.RejectError
		if !errors.As(err, &reject) || reject.Reason != "catfish: bad option: 3 connections, each with a worker of its own, want at most 2" {
			t.Errorf("%s: %v", tr, err)
		}
		first.Close()
		eventually(t, "there is room again", func() bool {
			c, err := client.Dial(t.Context(), s.Addr(), opts)
			if err != nil {
				return false
			}
			defer c.Close()
			_, err = c.Search(t.Context(), square(0, 0))
			return err == nil
		})
		s.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestPauseAndResumeAtOnce: after a concurrent pause and resume all workers are in
// the state that the later call sets.
func TestPauseAndResumeAtOnce(t *testing.T) {
	s := startServer(t, Options{Workers: 4, Transports: oneSided[:1]})
	ws := &s.fabrics[0].workers
	c := dial(t, s, client.Options{Transport: oneSided[0], Policy: "fast"})
	for range 300 {
		var both sync.WaitGroup
		both.Go(s.PauseWorkers)
		both.Go(s.ResumeWorkers)
		both.Wait()
		ws.mu.Lock()
		paused := ws.paused
		ws.mu.Unlock()
		if paused {
			s.ResumeWorkers()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := c.Search(ctx, square(0, 0))
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
}
