package api

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish"
)

// ServerBackend returns a Backend of the collections of srv, so that gRPC
// clients and RDMA clients share them:
//
//	g := api.NewServer(api.ServerBackend(srv))
//	go g.Serve(listener)
//
// Stop g before srv is closed.
func ServerBackend(srv *catfish.Server) Backend { return serverBackend{srv} }

type serverBackend struct{ *catfish.Server }

func (b serverBackend) Collection(name string) (Collection, error) {
	tree, err := b.Server.Collection(name)
	if err == nil {
		err = b.Server.Ready(name)
	}
	switch {
	case errors.Is(err, catfish.ErrUnknownCollection):
		return nil, fmt.Errorf("%w: %w", ErrNoCollection, err)
	case err != nil:
		return nil, err
	}
	return tree, nil
}
