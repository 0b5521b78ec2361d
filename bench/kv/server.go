package kv

import (
	"context"
	"fmt"
	"io"

	"github.com/catfish-index/catfish/internal/child"
	kvmap "github.com/catfish-index/catfish/kv"
)

// ServerMain runs a server child. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, start StartServer) error {
	p := child.NewPipe(in, out)
	var job ServerJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	srv, err := start(ctx, job, p.Note)
	if err != nil {
		return p.Fail(err)
	}
	defer srv.Close()
	if err := p.Write(fromChild{Server: &ServerReady{Addr: srv.Addr(), Version: srv.Version()}}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var cmd toChild
		if err := p.Read(&cmd); err != nil {
			return p.Fail(err)
		}
		if !cmd.Ask {
			continue
		}
		var s State
		if s.Usage, err = srv.Usage(); err == nil {
			s.Index, err = srv.Index()
		}
		if err != nil {
			return p.Fail(err)
		}
		if err := p.Write(fromChild{State: &s}); err != nil {
			return err
		}
	}
	return nil
}

// IndexOf returns the statistics of a collection that rows contain.
func IndexOf(s kvmap.Stats) Index {
	x := Index{
		Items: s.Index.Items, Inserts: s.Index.Inserts, Kicks: s.Index.Kicks,
		Stash: s.Index.Stash, StashMost: s.Index.StashMost,
	}
	if s.Index.Capacity > 0 {
		x.Load = s.Index.Load()
	}
	return x
}

// next returns a child's next line.
func next(ctx context.Context, c *child.Process) (fromChild, error) {
	var m fromChild
	err := c.Next(ctx, &m)
	return m, err
}

// stateOf asks a server child for its state.
func stateOf(ctx context.Context, c *child.Process) (State, error) {
	if err := c.Send(toChild{Ask: true}); err != nil {
		return State{}, err
	}
	m, err := next(ctx, c)
	if err == nil && m.State == nil {
		err = fmt.Errorf("%w (server) did not tell its state", child.ErrFailed)
	}
	if err != nil {
		return State{}, err
	}
	return *m.State, nil
}
