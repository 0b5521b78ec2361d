package client

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/rstar"
)

// lives is a server that is stopped and started again at one address.
type lives struct {
	t    *testing.T
	opts server.Options
	*server.Server
	done chan error
}

func newLives(t *testing.T) *lives {
	l := &lives{t: t, opts: server.Options{
		Listen: ownAddr(), SocketPath: filepath.Join(t.TempDir(), "s"), SlabBytes: 1 << 20, Logger: quiet(),
		Transports: offered, Fabric: testFabric,
	}}
	l.start()
	t.Cleanup(l.stop)
	return l
}

func (l *lives) start() {
	s, err := server.NewServer(l.opts)
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

func (l *lives) restart() {
	l.stop()
	l.start()
}

// reads are the calls whose answers depend on the contents of a collection.
func reads(ctx context.Context, c *Client) map[string]func() error {
	at := square(0, 0)
	return map[string]func() error{
		"search":  func() error { _, err := c.Search(ctx, at); return err },
		"count":   func() error { _, err := c.Count(ctx, at); return err },
		"nearest": func() error { _, err := c.Nearest(ctx, 0, 0, 1); return err },
		"explain": func() error { _, _, err := c.Explain(ctx, at, 0); return err },
		"many": func() error {
			return c.SearchMany(ctx, []rstar.Rect{at}, func(int, []rstar.Item) error { return nil })
		},
		"delete": func() error { _, err := c.Delete(ctx, at, 1); return err },
		"update": func() error { _, err := c.Update(ctx, at, square(1, 1), 1); return err },
	}
}

// TestRestartedEmpty: a client trusts no answer of a server that lost its data,
// by any path, until the server has data or the client accepts it.
func TestRestartedEmpty(t *testing.T) {
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			l := newLives(t)
			c := dial(t, l.Server, p.options())
			if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Count(t.Context(), square(0, 0)); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			l.restart()
			// A read first: a write may be sent to the server that is ending.
			if n, err := c.Count(t.Context(), square(0, 0)); !errors.Is(err, model.ErrRestarted) {
				t.Fatalf("count: %d, %v", n, err)
			}
			for name, read := range reads(t.Context(), c) {
				if err := read(); !errors.Is(err, model.ErrRestarted) || !RetrySafe(err) {
					t.Errorf("%s: %v, want %v", name, err, model.ErrRestarted)
				}
			}
			if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Count(t.Context(), square(0, 0)); n != 1 || err != nil {
				t.Errorf("with data again: %d, %v", n, err)
			}
			l.restart()
			if _, err := c.Count(t.Context(), square(0, 0)); !errors.Is(err, model.ErrRestarted) {
				t.Errorf("restarted once more: %v", err)
			}
			c.AcceptRestart()
			if n, err := c.Count(t.Context(), square(0, 0)); n != 0 || err != nil {
				t.Errorf("accepted: %d, %v", n, err)
			}
		})
	}
}

// TestOnRestart: the client's owner is notified of a restart before any call is
// answered, and can load the data again.
func TestOnRestart(t *testing.T) {
	l := newLives(t)
	was := l.BootID()
	load := func(ctx context.Context) error {
		c, err := Dial(ctx, l.opts.Listen, Options{Logger: quiet()})
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Insert(ctx, square(0, 0), 1)
	}
	if err := load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	var result error
	c := dial(t, l.Server, Options{DialTimeout: time.Minute, OnRestart: func(ctx context.Context, old, new ServerInfo) error {
		calls.Add(1)
		if old.BootID != was || new.BootID != l.BootID() || new.BootID == was || new.Addr != l.opts.Listen {
			t.Errorf("old %+v, new %+v", old, new)
		}
		was = new.BootID
		if result != nil {
			return result
		}
		return load(ctx)
	}})
	l.restart()
	if n, err := c.Count(t.Context(), square(0, 0)); n != 1 || err != nil || calls.Load() != 1 {
		t.Fatalf("%d, %v after %d calls", n, err, calls.Load())
	}
	result = fs.ErrNotExist
	l.restart()
	// A read comes first: it is made again on a new connection. An insert that the
	// client sends over the old one, before it knows, has an unknown outcome.
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"count", func() error { _, err := c.Count(t.Context(), square(0, 0)); return err }},
		{"insert", func() error { return c.Insert(t.Context(), square(0, 0), 1) }},
	} {
		if err := call.do(); !errors.Is(err, model.ErrRestarted) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s after OnRestart failed: %v", call.name, err)
		}
	}
	c.AcceptRestart()
	if n, err := c.Count(t.Context(), square(0, 0)); n != 0 || err != nil || calls.Load() != 2 {
		t.Errorf("accepted: %d, %v after %d calls", n, err, calls.Load())
	}
}

// TestRestartedWithoutCollection: a client reconnects to a server that lacks its
// collection, returns that error, and can create the collection.
func TestRestartedWithoutCollection(t *testing.T) {
	l := newLives(t)
	base := dial(t, l.Server, Options{})
	if err := base.CreateCollection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	c := dial(t, l.Server, Options{Collection: "a"})
	if err := c.Insert(t.Context(), square(0, 0), 1); err != nil {
		t.Fatal(err)
	}
	l.restart()
	if _, err := c.Count(t.Context(), square(0, 0)); !errors.Is(err, model.ErrUnknownCollection) {
		t.Errorf("count: %v", err)
	}
	if err := c.CreateCollection(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Count(t.Context(), square(0, 0)); !errors.Is(err, model.ErrRestarted) {
		t.Errorf("count: %v", err)
	}
}

// TestNotReady: while the server loads a collection, no path gives an answer;
// other collections, and the state of the server, are available.
func TestNotReady(t *testing.T) {
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			s := startServer(t, server.Options{
				SlabBytes: 1 << 20, Collections: []string{"other"}, Loading: []string{model.DefaultCollection},
			})
			c := dial(t, s, p.options())
			calls := reads(t.Context(), c)
			calls["insert"] = func() error { return c.Insert(t.Context(), square(0, 0), 1) }
			calls["check"] = func() error { return c.Check(t.Context()) }
			if err := tree(t, s).Load([]rstar.Item{{Rect: square(0, 0), ID: 1}}); err != nil {
				t.Fatal(err)
			}
			for name, call := range calls {
				if err := call(); !errors.Is(err, model.ErrNotReady) || !RetrySafe(err) {
					t.Errorf("%s: %v, want %v", name, err, model.ErrNotReady)
				}
			}
			if err := s.Ready(model.DefaultCollection); !errors.Is(err, model.ErrNotReady) {
				t.Errorf("Ready: %v", err)
			}
			if l, err := c.Collections(t.Context()); err != nil || len(l) != 2 || !l[0].Loading || l[1].Loading {
				t.Errorf("%+v, %v", l, err)
			}
			other, err := c.Collection("other")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := other.Count(t.Context(), square(0, 0)); n != 0 || err != nil {
				t.Errorf("another collection: %d, %v", n, err)
			}
			if err := s.SetReady(model.DefaultCollection); err != nil {
				t.Fatal(err)
			}
			if n, err := c.Count(t.Context(), square(0, 0)); n != 1 || err != nil {
				t.Errorf("ready: %d, %v", n, err)
			}
		})
	}
	_, err := server.NewServer(server.Options{Loading: []string{"unknown"}, Logger: quiet()})
	if !errors.Is(err, model.ErrOption) {
		t.Errorf("loading an unknown collection: %v", err)
	}
}
