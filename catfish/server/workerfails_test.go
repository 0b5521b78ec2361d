package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/internal/rdma"
)

// lines is a logger's output, which a test can wait for.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), s)
}

// queues is a device that also sends the completion queues that it makes to a channel.
type queues struct {
	rdma.Device
	made chan rdma.CompletionQueue
}

func (d queues) CreateCQ(depth int) (rdma.CompletionQueue, error) {
	cq, err := d.Device.CreateCQ(depth)
	if err == nil {
		d.made <- cq
	}
	return cq, err
}

// TestConnectionWorkerFails: a worker that fails while its connection is open logs
// the error; a worker whose connection or server ends logs none.
func TestConnectionWorkerFails(t *testing.T) {
	for _, tr := range oneSided {
		for _, fails := range []bool{true, false} {
			log, made := &lines{}, make(chan rdma.CompletionQueue, 2)
			s, err := NewServer(Options{WorkerPerConnection: true, Transports: []string{tr}, SlabBytes: 16 << 20,
				SocketPath: t.TempDir() + "/s", Fabric: testFabric,
				Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			if err != nil {
				t.Fatal(err)
			}
			s.fabrics[0].dev = queues{s.fabrics[0].dev, made}
			served := make(chan error, 1)
			go func() { served <- s.Serve(context.Background()) }()
			c := dial(t, s, client.Options{Transport: tr, Policy: "fast", Fabric: testFabric})
			dial(t, s, client.Options{Transport: tr, Policy: "fast", Fabric: testFabric}) // stays connected until the server ends
			if cq := <-made; fails {
				cq.Close()
			} else {
				c.Close()
			}
			eventually(t, "its worker ends", func() bool { return s.Stats().Transports[0].EndedWorkers > 0 })
			c.Close()
			s.Close()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if !log.has("connection ended") || log.has("worker failed") != fails {
				t.Errorf("%s, fails %v: log %s", tr, fails, log.buf.String())
			}
		}
	}
}
