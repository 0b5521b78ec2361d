package catfish

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rstar"
)

// collection is a named tree in a slab that every device has registered.
type collection struct {
	num     uint32
	name    string
	tree    *rstar.Tree
	regions map[string]rdma.Region // by transport
}

// collections is a table that only grows. Workers look up numbers without a
// lock; names are resolved once per connection.
type collections struct {
	mu    sync.Mutex // serialises create
	list  atomic.Pointer[[]*collection]
	names sync.Map // string -> *collection
}

func (cs *collections) all() []*collection {
	if l := cs.list.Load(); l != nil {
		return *l
	}
	return nil
}

func (cs *collections) byNumber(n uint32) (*collection, error) {
	l := cs.all()
	if int64(n) >= int64(len(l)) {
		return nil, fmt.Errorf("%w: number %d, the server has %d", ErrUnknownCollection, n, len(l))
	}
	return l[n], nil
}

func (cs *collections) byName(name string) (*collection, error) {
	if c, ok := cs.names.Load(name); ok {
		return c.(*collection), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownCollection, name)
}

// create allocates the slab with the first device and registers the same
// memory with the others, so that all transports serve the same bytes.
func (cs *collections) create(name string, s *Server) (*collection, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if c, err := cs.byName(name); err == nil {
		return c, nil
	}
	l := cs.all()
	if len(l) >= maxCollections {
		return nil, fmt.Errorf("%w: %d collections, want at most %d", ErrOption, len(l)+1, maxCollections)
	}
	c := &collection{num: uint32(len(l)), name: name, regions: make(map[string]rdma.Region)}
	opts := rstar.Options{NodeBytes: s.opts.NodeBytes, SlabBytes: s.opts.SlabBytes, BootID: s.bootID, Strategy: s.opts.Strategy}
	if err := c.register(s, &opts); err != nil {
		c.close()
		return nil, err
	}
	var err error
	if c.tree, err = rstar.New(opts); err != nil {
		c.close()
		return nil, err
	}
	next := append(slices.Clone(l), c)
	cs.list.Store(&next)
	cs.names.Store(name, c)
	return c, nil
}

// register sets opts.Memory, if there is a device.
func (c *collection) register(s *Server, opts *rstar.Options) error {
	for _, f := range s.fabrics {
		if opts.Memory == nil {
			r, err := f.dev.Register(int(opts.SlabBytes), rdma.RemoteRead)
			if err != nil {
				return fmt.Errorf("catfish: slab of %d bytes (--slab-bytes) for %q: %w", opts.SlabBytes, c.name, err)
			}
			c.regions[f.name], opts.Memory = r, r.Bytes()
			continue
		}
		m, ok := f.dev.(rdma.MemoryRegistrar)
		if !ok {
			return fmt.Errorf("%w: %s cannot register memory of another device", ErrTransport, f.name)
		}
		r, err := m.RegisterMemory(opts.Memory, rdma.RemoteRead)
		if err != nil {
			return fmt.Errorf("catfish: slab of %d bytes (--slab-bytes) for %q: %w", opts.SlabBytes, c.name, err)
		}
		c.regions[f.name] = r
	}
	return nil
}

// close closes the tree before its memory is freed.
func (c *collection) close() {
	if c.tree != nil {
		c.tree.Close()
	}
	for _, r := range c.regions {
		r.Close()
	}
}
