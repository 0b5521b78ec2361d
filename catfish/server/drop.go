package server

import (
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// DropCollection removes a collection, and reports whether there was one.
// Searches of it fail with ErrUnknownCollection; its tree looks empty and
// refuses writes with rstar.ErrClosed. Its memory is free soon after. The
// default collection cannot be dropped (ErrNotPermitted). ErrNotReady: the store is
// being opened, and may have the collection.
func (s *Server) DropCollection(name string) (bool, error) { return s.store.Drop(name) }

// carryOutUnlessGone is carryOut, whose answer counts only if the collection still
// exists afterwards.
func (v *service) carryOutUnlessGone(from *peer, req *request, out []byte) result {
	r := v.carryOut(from, req, out)
	if gone := req.coll.Gone(); gone != nil && r.task == nil { // otherwise the task will notice
		return result{err: gone}
	}
	return r
}

// manage returns the task of a client's creation or drop of a collection.
func (v *service) manage(from *peer, kind fastmsg.Kind, p []byte) (*task, error) {
	if v.s.opts.ClientCollections < 0 {
		return nil, fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	name, spec := string(p), store.Spec{Kind: store.KindBoxes}
	as := v.name
	switch kind {
	case wire.KindDrop:
		return v.dropLater(from, as, name), nil
	case wire.KindCreateKept:
		spec = keptBoxes
	case wire.KindCreateRecords:
		o, rest, err := wire.GetRecordsOptions(p)
		if err != nil {
			return nil, err
		}
		if spec, err = v.s.recordsSpec(o); err != nil {
			return nil, err
		}
		name = string(rest)
	case wire.KindCreateFeatures:
		o, rest, err := wire.GetFeaturesOptions(p)
		if err != nil {
			return nil, err
		}
		spec, name = store.Spec{Features: o}, rest
	}
	if err := wire.CheckName(name); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrProtocol, err) // the client has checked it
	}
	if err := v.s.CheckMemory(); err != nil {
		return nil, err
	}
	spec.As = as
	return v.createLater(from, name, spec), nil
}

// createLater returns the task that creates a collection. The store's creation waits for
// the disk, and others wait for it, so it holds no scheduling slot and no worker.
func (v *service) createLater(from *peer, name string, spec store.Spec) *task {
	return v.newWork(from, func(t *task) ([]byte, error) {
		if t.to.ended() { // A client that has hung up gets no collection.
			return nil, errHungUp
		}
		spec.Account = t.s.clientColls.Open(t.source, func(error) {})
		_, err := t.s.create(name, spec)
		return nil, err
	})
}

// dropLater returns the task that drops a collection: see createLater.
func (v *service) dropLater(from *peer, as store.Name, name string) *task {
	return v.newWork(from, func(t *task) ([]byte, error) {
		ok, err := t.s.store.DropAs(as, name, func(c *collection) error {
			if c.OfClients() {
				return nil
			}
			return fmt.Errorf("%w: collection %q was not created by a client", model.ErrNotPermitted, name)
		})
		return wire.AppendBool(nil, ok), err
	})
}

// newClientCollections bounds what each source creates, not the sum: to make room, a
// budget would drop another client's data. The table bounds the total.
func newClientCollections(share int) *limits.Budget {
	return limits.NewBudget("collections that clients created", 1<<62, int64(share))
}
