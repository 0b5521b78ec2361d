package cli

import (
	"context"
	"io"
	"log/slog"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/internal/limits"
)

// What 'catfish demo' needs of 'serve'

// Page is the page of a server, as that of --http of 'serve'.
type Page struct {
	Addr string
	Room *engine.Room

	stop func()
	seen *observed
}

// ServePage serves a page. Loads that are started there run on the cores cpus. If the
// address is taken, the error wraps ErrHTTP. A later failure goes to fail.
func ServePage(ctx context.Context, srv *catfish.Server, addr string, spawn child.Spawn, cpus affinity.Set, fail context.CancelCauseFunc) (*Page, error) {
	seen, err := newObserved(ctx, srv, "", slog.New(slog.DiscardHandler), fail)
	if err != nil {
		return nil, err
	}
	p := &Page{Room: newRoom(srv, spawn, cpus, seen), seen: seen}
	loaded := make(chan struct{})
	close(loaded)
	if p.Addr, p.stop, err = serveRoom(p.Room, httpFlags{addr: addr}, limits.CallsPart, srv, guards{}, seen, loaded, fail); err != nil {
		seen.close()
		return nil, err
	}
	return p, nil
}

// Close ends the page, and the load that runs there.
func (p *Page) Close() {
	p.stop()
	p.seen.close()
}

// LoadPlaces fills a new collection of features from a file, and returns their number.
func LoadPlaces(ctx context.Context, srv *catfish.Server, name, path string) (int, error) {
	c, err := srv.CreateFeatures(name, catfish.FeaturesOptions{Title: "Places"})
	if err != nil {
		return 0, err
	}
	quiet := &App{Out: io.Discard, Err: io.Discard}
	l := &featureLoader{a: quiet, to: catfish.FeaturesOf(c), name: name, space: c.Options().Space}
	err = c.Fill(func() error {
		return l.loadAll(ctx, new(placeFlags), &sourceFlags{memory: datasets.DefaultMemoryBytes}, []string{path})
	})
	return c.Len(), err
}
