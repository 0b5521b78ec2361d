package api

import (
	"errors"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/rstar"
)

// ServerBackend returns a Backend of the collections of srv, so that gRPC
// clients and RDMA clients share them:
//
//	g := api.NewServer(api.ServerBackend(srv))
//	go g.Serve(listener)
//
// Stop g before srv is closed.
func ServerBackend(srv *catfish.Server) Backend {
	b := serverBoxes{srv}
	return Backend{Collection: b.find, Collections: srv.Collections, Host: srv}
}

type serverBoxes struct{ srv *catfish.Server }

func (b serverBoxes) find(name string) (Collection, error) {
	c, err := b.boxes(name)
	if err == nil {
		err = b.srv.Ready(name)
	}
	switch {
	case errors.Is(err, catfish.ErrUnknownCollection):
		return nil, noCollection{err}
	case err != nil:
		return nil, err
	}
	return c, nil
}

func (b serverBoxes) boxes(name string) (Collection, error) {
	tree, err := b.srv.Collection(name)
	if err == nil {
		return tree, nil
	}
	// The store keeps the collection, or the name is still unknown.
	if !errors.Is(err, catfish.ErrNotPermitted) && !errors.Is(err, catfish.ErrUnknownCollection) {
		return nil, err
	}
	kept, err := b.srv.Kept(name)
	if err != nil {
		return nil, err
	}
	return keptBoxes{kept.Tree(), kept}, nil
}

// keptBoxes reads a tree, and writes through the store that keeps it.
type keptBoxes struct {
	*rstar.Tree
	kept *store.Boxes
}

func (k keptBoxes) Insert(r rstar.Rect, id uint64) error { return k.kept.Insert(r, id) }

func (k keptBoxes) InsertMany(items []rstar.Item) (int, error) { return k.kept.InsertMany(items) }

func (k keptBoxes) Delete(r rstar.Rect, id uint64) (bool, error) { return k.kept.Delete(r, id) }

func (k keptBoxes) Update(old, new rstar.Rect, id uint64) (bool, error) {
	return k.kept.Update(old, new, id)
}

func (k keptBoxes) Load(items []rstar.Item) error { return k.kept.Load(items) }
