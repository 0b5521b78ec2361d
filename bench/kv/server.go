package kv

import (
	"context"
	"io"

	"github.com/catfish-index/catfish/bench/harness"
	kvmap "github.com/catfish-index/catfish/internal/kv"
)

// ServerMain runs a server child. It returns when in ends or ctx is done.
func ServerMain(ctx context.Context, in io.Reader, out io.Writer, start StartServer) error {
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, job ServerJob, note func(string)) (s harness.Served[command], err error) {
		srv, err := start(ctx, job, note)
		if err != nil {
			return s, err
		}
		return harness.Served[command]{
			Ready: ServerReady{Addr: srv.Addr(), Version: srv.Version()},
			Answer: func(context.Context, command) (any, error) {
				u, err := srv.Usage()
				if err != nil {
					return nil, err
				}
				x, err := srv.Index()
				state := State{Usage: u, Index: x}
				if p, ok := srv.(interface{ Posts() Posts }); ok {
					state.Posts = p.Posts()
				}
				return state, err
			},
			Close: func() { srv.Close() },
		}, nil
	})
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
