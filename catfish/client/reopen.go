package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/cuckoo"
	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// A collection that a session has opened may be dropped, and perhaps created
// again, with another number and other memory. Messages then fail with
// ErrUnknownCollection. An offloaded search finds that the memory is no longer
// registered, or is no tree.

// forget removes o from the session, so that the collection is opened again. If o is
// a shard, it removes all shards.
func (s *session) forget(o *openSlab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last.CompareAndSwap(o, nil)
	for _, k := range s.removeShards(o) {
		s.last.CompareAndSwap(k, nil)
		k.release()
	}
}

// noStructure are errors of memory that is no tree, or no records.
var noStructure = []error{
	remote.ErrProtocol, rstar.ErrLayout, rstar.ErrCorrupt, cuckoo.ErrLayout, cuckoo.ErrCorrupt, table.ErrServerChanged,
	record.ErrRef, record.ErrMalformed,
}

// walkFailed finds the cause of an offloaded search's failure: if the collection
// was dropped, the transport has not failed.
func (s *session) walkFailed(ctx context.Context, o *openSlab, err error) error {
	var c *rdma.CompletionError
	broke := errors.Is(err, offload.ErrChannel) && !(errors.As(err, &c) && c.Status == rdma.StatusPeerLost)
	if !broke && !slices.ContainsFunc(noStructure, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	// If the server does not answer, the connection is lost for another reason.
	ctx, cancel := context.WithTimeout(ctx, rdma.PeerTimeout)
	defer cancel()
	b, asked := s.call(ctx, wire.KindOpen, []byte(o.name), nil)
	if asked == nil {
		// Either kind's answer begins with the number.
		if len(b) < wire.HeadBytes || binary.LittleEndian.Uint32(b) == o.coll {
			return err
		}
		asked = model.ErrUnknownCollection // o was dropped; another one has its name
	}
	// An open collection is ready: one that is not ready is another.
	if !errors.Is(asked, model.ErrUnknownCollection) && !errors.Is(asked, model.ErrNotReady) {
		return err
	}
	return fmt.Errorf("%w: %q was dropped: %w", model.ErrUnknownCollection, o.name, err)
}
