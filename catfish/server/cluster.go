package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// SetCluster says by which map this server's group has a part of a store of several groups
// (docs/decisions/many-groups.md); view returns nil while there is none, and is called for each
// request. For packages of this module.
func (s *Server) SetCluster(view func() *wire.Cluster) { s.clusterOf.Store(&view) }

// BoundLeases sets a function that bounds the leases that clients get. Call it before SetCluster. For
// packages of this module.
func (s *Server) BoundLeases(bound func(replica.Lease) replica.Lease) { s.boundLease.Store(&bound) }

// cluster is nil without a map.
func (s *Server) cluster() *wire.Cluster {
	if f := s.clusterOf.Load(); f != nil {
		return (*f)()
	}
	return nil
}

// tellMap answers a KindMap.
func (v *service) tellMap(from *peer, p, out []byte) ([]byte, error) {
	r, err := wire.GetMapRequest(p)
	if err != nil {
		return out, err
	}
	c := v.s.cluster()
	if c == nil {
		return out, fmt.Errorf("%w: this server has no map of groups", model.ErrNotReady)
	}
	from.epoch = r.Epoch
	return wire.AppendCluster(out, c, r.Version)
}

// toldEpoch is the epoch of the server's map, 0: there is none, or the client has told none.
func (v *service) toldEpoch(from *peer) uint64 {
	if c := v.s.cluster(); c != nil && from.epoch != 0 {
		return c.Epoch
	}
	return 0
}

// reading is a request that has begun. The zero value is one that need not be looked at again.
type reading struct {
	store.Reading

	of    *Server // nil: it is not of many ids, or the server has no map
	epoch uint64  // of the client's map
	open  bool    // it only opens a collection
	boxes bool    // the store does not look at its map itself
}

// reading begins a request. The answer counts if the member may still be read when the values
// were read, and if the map is still the client's. Watches give only what is committed, whatever
// the lease says.
func (v *service) reading(from *peer, kind fastmsg.Kind) (r reading) {
	if v.s.opts.member.on && readsData[kind] {
		r.Reading = v.s.store.Reading(from.mode)
	}
	if v.s.clusterOf.Load() != nil && (wire.ByMap(kind) || kind == wire.KindOpen) {
		r.of, r.epoch, r.open, r.boxes = v.s, from.epoch, kind == wire.KindOpen, searchesBoxes[kind]
	}
	return r
}

// Err is called when the values were read.
func (r *reading) Err() error {
	if err := r.Reading.Err(); err != nil {
		return err
	}
	return r.moved()
}

// moved is called before values are read, too: the map must have been the client's all the time.
func (r *reading) moved() error {
	if r.of == nil {
		return nil
	}
	switch c := r.of.cluster(); {
	case c == nil && r.epoch != 0:
		return fmt.Errorf("%w: this member has not read the map of groups yet", fault.ErrMoved)
	case c == nil, r.epoch == 0 && len(c.Groups) < 2, r.epoch != 0 && r.open:
		return nil
	case r.epoch == 0:
		return fmt.Errorf("%w: %d groups have this store together, and this client knows one: it is older than groups, or has connected before there were several; connect again, or update it",
			model.ErrVersionMismatch, len(c.Groups))
	case r.epoch != c.Epoch:
		return fmt.Errorf("%w: the request is by the map of epoch %d, this server's is of epoch %d", fault.ErrMoved, r.epoch, c.Epoch)
	case r.boxes:
		return r.of.store.MayReadAll(r.epoch)
	}
	// The store has a later map some time before the server: its searches leave out what went to another
	// group, which may not have answered by that map.
	if is := r.of.store.Epoch(); is != 0 && is != r.epoch {
		return fmt.Errorf("%w: the request is by the map of epoch %d, this store's is of epoch %d", fault.ErrMoved, r.epoch, is)
	}
	return nil
}

var searchesBoxes = map[fastmsg.Kind]bool{
	wire.KindSearch: true, wire.KindCount: true, wire.KindNearest: true, wire.KindWithin: true, wire.KindSearchMany: true,
}
