package remote

import "github.com/catfish-index/catfish/offload"

// PointerCaches are the Pointers that some clients of a process share: one for each Map, kept while
// a client uses it. All of these clients use one clock. The zero value is ready for
// use, by any number of goroutines.
type PointerCaches struct {
	of offload.Shared[PointersKey, *Pointers]
}

// PointersKey names a Map of one incarnation of a server. The address that the client
// was given is part of it, so that no server fills the cache of another.
type PointersKey struct {
	Addr       string
	BootID     uint64
	Collection uint32
	Bytes      int64 // of the cache
	// File has the entries of Pointers that other processes share, too; Bytes only says that
	// there is a cache then. nil: they are on the heap.
	File *PointerFile
}

// Share returns the Pointers of a Map, nil for 0 bytes, and a function that gives them
// back. They are dropped when the last user has given them back.
func (c *PointerCaches) Share(k PointersKey) (*Pointers, func()) {
	if k.Bytes == 0 {
		return nil, func() {}
	}
	return c.of.Share(k, func() *Pointers {
		if k.File != nil {
			return k.File.pointers(k)
		}
		return NewPointers(k.Bytes)
	})
}
