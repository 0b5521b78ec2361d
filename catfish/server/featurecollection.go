package server

import (
	"context"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
)

// Collections of features, at the server
//
// They belong to a store (package store), which the server opens with memory that
// clients may read:
//
//	slab    tree of boxes      its ids are references of records
//	heap    records            features, by id
//	index   key index          ids
//
// So a client reads a feature collection as it reads boxes and records: it walks
// the tree, and then reads the records that the leaves refer to; or it looks an id
// up. Writes go through the store's single commit queue, and are answered when the
// commit leader has made them durable (featurewrites.go).

// CreateFeatures adds a collection of features, unless there is one of that name,
// and returns it, for use in this process concurrently with remote clients.
// ErrKind: there is one of another kind.
func (s *Server) CreateFeatures(name string, o model.FeaturesOptions) (*PlacesCollection, error) {
	c, err := s.create(name, store.Spec{Features: store.CollectionOptions(o)})
	if err != nil {
		return nil, err
	}
	return c.Features, nil
}

// Features returns a collection of features, as CreateFeatures does.
func (s *Server) Features(name string) (*PlacesCollection, error) { return s.store.Collection(name) }

// AlterFeatures replaces the title and the description of a collection of features
// (store.Store.Alter). ErrNotPermitted: the collection's options are the owner's
// (Options.Features), and the next start would set them again.
func (s *Server) AlterFeatures(name string, o model.FeaturesOptions) error {
	return s.store.Alter(name, store.CollectionOptions(o))
}

// Store returns the server's store. ErrNotReady: the store is being loaded.
func (s *Server) Store() (*Store, error) {
	if err := s.store.Ready(); err != nil {
		return nil, err
	}
	return s.store, nil
}

// WaitReady waits until the kept collections are loaded.
func (s *Server) WaitReady(ctx context.Context) error {
	select {
	case <-s.store.Loaded():
		return s.store.Ready()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func featuresStats(c *collection) model.FeaturesStats {
	return model.FeaturesStats{CollectionOptions: c.Features.Options(), Tree: c.Tree.Stats(), Records: recordsStats(c)}
}
