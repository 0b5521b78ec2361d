package client

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
)

// logLines is a log that tests read.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// TestLogFlood: hostile connections make a handful of log lines, which count all of them.
func TestLogFlood(t *testing.T) {
	var log logLines
	s, err := server.NewServer(server.Options{SlabBytes: 1 << 20, Transports: []string{model.TransportSoft}, Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context()) }()
	const n = 2000
	for range n {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("GET / HT"))
		io.Copy(io.Discard, c) // until the server closes
		c.Close()
	}
	s.Close()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	lines, counted := 0, 0
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "connection refused") {
			continue
		}
		left := 0
		if _, after, ok := strings.Cut(line, "suppressed="); ok {
			fmt.Sscan(after, &left)
		}
		lines, counted = lines+1, counted+1+left
		if !strings.Contains(line, "peer=") { // the last one only counts
			counted--
		}
	}
	if lines > n/20 || counted != n {
		t.Errorf("%d lines that count %d connections, want a handful that count %d", lines, counted, n)
	}
}
