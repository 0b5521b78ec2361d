package server

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
)

// shortOf is a listener that sometimes runs out of descriptors.
type shortOf struct {
	net.Listener
	fails int
}

func (l *shortOf) Accept() (net.Conn, error) {
	if l.fails > 0 {
		l.fails--
		return nil, errors.New("too many open files")
	}
	return l.Listener.Accept()
}

// TestAcceptFails: a failed accept does not end the server.
func TestAcceptFails(t *testing.T) {
	s, err := NewServer(Options{SlabBytes: 1 << 20, SocketPath: filepath.Join(t.TempDir(), "s"), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	s.mux.ln = &shortOf{s.ln, 3}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background()) }()
	c := dial(t, s, client.Options{})
	if _, err := c.Count(t.Context(), square(0, 0)); err != nil {
		t.Error(err)
	}
	c.Close()
	s.Close()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}
