package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/web"
)

// page is the page of the demo's server, as that of --http of 'serve'.
type page struct {
	addr string
	room *engine.Room
	site *web.Server
	done chan struct{}
}

// servePage serves a page at addr, or at another port if that is taken and not fixed.
// Loads that are started there run on the cores cpus. A later failure goes to fail.
func servePage(srv *catfish.Server, addr string, fixed bool, spawn child.Spawn, cpus affinity.Set, fail context.CancelCauseFunc) (*page, error) {
	st, err := srv.Store()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) && !fixed {
		host, _, _ := net.SplitHostPort(addr) // It was checked.
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("HTTP: %w", err)
	}
	p := &page{addr: l.Addr().String(), room: engine.New(engine.Options{Server: srv, Spawn: spawn, CPUs: cpus}), done: make(chan struct{})}
	o := web.Options{Engine: p.room, Logger: slog.New(slog.DiscardHandler)}
	o.Share(srv.MemoryLimit() / limits.CallsPart)
	if p.site, err = web.New(srv, o); err != nil {
		p.room.Close()
		return nil, errors.Join(err, l.Close())
	}
	srv.ShowBudgets(p.site.Budgets)
	p.site.ServeFeatures(st)
	go func() {
		defer close(p.done)
		if err := p.site.Serve(l, nil); err != nil {
			fail(fmt.Errorf("HTTP: %w", err))
		}
	}()
	return p, nil
}

// close ends the page, and the load that runs there.
func (p *page) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // as 'serve'
	defer cancel()
	p.site.Shutdown(ctx)
	<-p.done
}
