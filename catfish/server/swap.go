package server

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// SwapCollections exchanges the names of two collections of features, at one moment
// for clients, and durably. It returns when no client reads by an old name any more,
// which may take 10 s; calls that begin then see the new names. ErrKind: one is of
// another kind. ErrNotPermitted: the server's owner has given the name other options
// (Options.Features). Watchers of both end with store.ErrSwapped, which clients
// receive as store.ErrLagged.
func (s *Server) SwapCollections(ctx context.Context, a, b string) error {
	return s.store.Swap(ctx, a, b)
}

// opened is called before the server answers a client where the memory is.
func opened(c *collection, transport string) {
	if transport != model.TransportTCP {
		attachedTo(c).opened.Store(int64(wire.Monotonic()))
	}
}

func (s *Server) nameLease() time.Duration {
	if s.opts.hooks.NameLease > 0 {
		return s.opts.hooks.NameLease
	}
	return wire.NameLease
}

// swap is the task of a client's swap. It takes no scheduling slot, since it waits.
func (v *service) swap(from *peer, p []byte) (*task, error) {
	a, b, err := wire.GetNames(p)
	switch {
	case err != nil:
		return nil, err
	case a == b:
		return nil, fmt.Errorf("%w: %q swapped with itself", model.ErrProtocol, a) // The client has checked it.
	case v.s.opts.ClientCollections < 0:
		return nil, fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	return v.newWork(from, func(t *task) ([]byte, error) { return nil, t.s.SwapCollections(t.s.ctx, a, b) }), nil
}
