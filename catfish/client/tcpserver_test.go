package client

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
)

// TestLogFlood: hostile connections make a handful of log lines, which count all of them.
func TestLogFlood(t *testing.T) {
	var log catfishtest.LogLines
	s, err := server.NewServer(server.Options{SlabBytes: 1 << 20, Transports: []string{model.TransportSoft}, Logger: log.Logger()})
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
