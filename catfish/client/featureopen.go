package client

import (
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
)

// openedTree sets where the tree of a collection of features is, and its cache, and
// returns a function that gives the cache back. old is the session's earlier state.
func (s *session) openedTree(o *openSlab, f *wire.OpenFeatures, old *openSlab) (leave func()) {
	if f == nil {
		return func() {}
	}
	o.features, o.space = true, f.Space
	o.slab = slab{
		Base: f.Tree, Bytes: f.TreeBytes, NodeBytes: f.NodeBytes, BootID: s.hello.BootID, Trust: s.trust,
		KnownRoot:   s.window == 1,
		WholeLeaves: true, // Places form clusters, and most searches are in them.
	}
	switch {
	case old != nil && old.features:
		o.Cache, o.leaveCache = old.Cache, old.leaveCache
	case s.canOffload() && !s.ended:
		k := s.cacheKey
		k.Tree, k.NodeBytes = f.Coll, f.NodeBytes
		var c *remote.Cache
		c, o.leaveCache = s.shared.caches.Share(k)
		o.Cache = c
	}
	if o.leaveCache == nil {
		return func() {}
	}
	return o.leaveCache
}
