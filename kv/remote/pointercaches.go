package remote

import "github.com/catfish-index/catfish/offload"

// PointerCaches are the Pointers that some clients share: one for each Map, there
// as long as somebody uses it. All of these clients use one clock. The zero value
// is ready for use, by any number of goroutines.
type PointerCaches struct {
	of offload.Shared[PointersKey, *Pointers]
}

// PointersKey names a Map of one incarnation of a server. The address is part of
// it, as the client was given it: no server gets to fill the cache of another.
type PointersKey struct {
	Addr       string
	BootID     uint64
	Collection uint32
	Bytes      int64 // of the cache
}

// Share returns the Pointers of a Map, nil for 0 bytes, and a function that gives
// them back. The last user's return drops them.
func (c *PointerCaches) Share(k PointersKey) (*Pointers, func()) {
	if k.Bytes == 0 {
		return nil, func() {}
	}
	return c.of.Share(k, func() *Pointers { return NewPointers(k.Bytes) })
}
