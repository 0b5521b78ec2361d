package server

import (
	"context"
	"path/filepath"
	"testing"
)

// lives is a server that is stopped and started again at one address.
type lives struct {
	t    *testing.T
	opts Options
	*Server
	done chan error
}

func newLives(t *testing.T) *lives {
	l := &lives{t: t, opts: Options{
		Listen: ownAddr(), SocketPath: filepath.Join(t.TempDir(), "s"), SlabBytes: 1 << 20, Logger: quiet(),
		Transports: offered, Fabric: testFabric,
	}}
	l.start()
	t.Cleanup(l.stop)
	return l
}

func (l *lives) start() {
	s, err := NewServer(l.opts)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Server, l.opts.Listen, l.done = s, s.Addr(), make(chan error, 1)
	go func() { l.done <- s.Serve(context.Background()) }()
}

func (l *lives) stop() {
	if err := l.Close(); err != nil {
		l.t.Errorf("Close: %v", err)
	}
	if err := <-l.done; err != nil {
		l.t.Errorf("Serve: %v", err)
	}
}
