package api

import (
	"context"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/store"
)

// ServerFeatures is a FeatureBackend of a Server's collections of features, which
// RDMA clients read, too:
//
//	g := api.NewServer(api.ServerBackend(srv), api.WithFeaturesLater())
//	go func() {
//		if srv.WaitReady(ctx) == nil {
//			g.ServeFeatures(api.ServerFeatures(srv))
//		}
//	}()
func ServerFeatures(srv *catfish.Server) FeatureBackend { return serverFeatures{srv} }

type serverFeatures struct{ srv *catfish.Server }

func (b serverFeatures) CreateFeatures(name string, o store.CollectionOptions) (FeatureCollection, error) {
	if err := b.srv.CheckMemory(); err != nil {
		return nil, err
	}
	c, err := b.srv.CreateFeatures(name, catfish.FeaturesOptions(o))
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b serverFeatures) Features(name string) (FeatureCollection, error) {
	c, err := b.srv.Features(name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (b serverFeatures) AllFeatures() (all []FeatureCollection) {
	for _, name := range b.srv.Collections() {
		if c, err := b.srv.Features(name); err == nil {
			all = append(all, c)
		}
	}
	return all
}

func (b serverFeatures) AlterFeatures(name string, o store.CollectionOptions) error {
	return b.srv.AlterFeatures(name, catfish.FeaturesOptions(o))
}

func (b serverFeatures) DropFeatures(name string) (bool, error) {
	if _, err := b.srv.Features(name); err != nil {
		return false, nil //nolint:nilerr // There is no such one.
	}
	return b.srv.DropCollection(name)
}

// WatchLimits makes it a watchLimiter.
func (b serverFeatures) WatchLimits() store.WatchLimits { return b.srv.WatchLimits() }

func (b serverFeatures) SwapFeatures(ctx context.Context, x, y string) error {
	return b.srv.SwapCollections(ctx, x, y)
}
