package catfish

import "github.com/catfish-index/catfish/rstar/remote"

// openedTree sets where the tree of a collection of features is, and its cache, and
// returns a function that gives the cache back. old is the session's earlier state.
func (s *session) openedTree(o *openSlab, f *openFeatures, old *openSlab) (leave func()) {
	if f == nil {
		return func() {}
	}
	o.features, o.space = true, f.space
	o.slab = slab{
		Base: f.tree, Bytes: f.treeBytes, NodeBytes: f.nodeBytes, BootID: s.hello.BootID, Trust: s.trust,
		WholeLeaves: true, // Places form clusters, and most searches are in them.
	}
	switch {
	case old != nil && old.features:
		o.Cache, o.leaveCache = old.Cache, old.leaveCache
	case s.canOffload() && !s.ended:
		k := s.cacheKey
		k.Tree, k.NodeBytes = f.coll, f.nodeBytes
		var c *remote.Cache
		c, o.leaveCache = s.shared.caches.Share(k)
		o.Cache = c
	}
	if o.leaveCache == nil {
		return func() {}
	}
	return o.leaveCache
}
