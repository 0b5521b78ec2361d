package server

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// CreateKept adds a collection of boxes that is kept in the data directory, unless
// there is one of that name, and returns it, for use in this process concurrently
// with remote clients. ErrNotPermitted: there is no data directory. ErrNotReady: the
// directory is being loaded. ErrKind, store.ErrCollectionExists: there is one of another
// kind, or one that is not kept.
func (s *Server) CreateKept(name string) (*KeptBoxes, error) {
	c, err := s.create(name, keptBoxes)
	if err != nil {
		return nil, err
	}
	return c.Boxes, nil
}

// Kept returns a collection of boxes that is kept. ErrKind: the collection is of another
// kind, or not kept.
func (s *Server) Kept(name string) (*KeptBoxes, error) {
	c, err := s.store.Lookup(name)
	if err != nil {
		return nil, err
	}
	if c.Boxes == nil {
		return nil, fmt.Errorf("%w: %q is one of %s, and not of boxes that are kept", model.ErrKind, name, c.Kind)
	}
	return c.Boxes, nil
}

// ownTree is the tree of a collection, which the server's owner may write. It fails
// for a kept collection: the store would not learn of such writes.
func ownTree(c *collection) (*rstar.Tree, error) {
	if err := c.Is(store.KindBoxes); err != nil {
		return nil, err
	}
	if c.Boxes != nil {
		return nil, fmt.Errorf("%w: collection %q is kept, and written by Server.Kept alone", model.ErrNotPermitted, c.Name)
	}
	return c.Tree, nil
}

// keptWrite is a write to boxes that are kept.
type keptWrite struct {
	task
	req   request
	items []rstar.Item // of an insertMany
	as    recordAs
	name  store.Name
}

// writeKept returns the task of a write, which is answered after its commit.
func (v *service) writeKept(from *peer, req *request) *task {
	w := &keptWrite{name: v.name, as: v.as(from).shared(), req: request{kind: req.kind, coll: req.coll, rect: req.rect, to: req.to, id: req.id}}
	switch req.kind {
	case wire.KindInsert:
		w.items = []rstar.Item{{Rect: req.rect, ID: req.id}}
	case wire.KindInsertMany:
		w.items = make([]rstar.Item, 0, len(req.items)/wire.ItemBytes)
		for p := req.items; len(p) > 0; p = p[wire.ItemBytes:] {
			w.items = append(w.items, wire.GetItem(p))
		}
	}
	w.task = task{s: v.s, keeps: len(w.items) * wire.ItemBytes, starts: w}
	return &w.task
}

func (w *keptWrite) start(*store.Writes) {
	b, q := w.req.coll.Boxes, &w.req
	found := func(ok bool, err error) { w.finish(wire.AppendBool(nil, ok), 0, err) }
	switch q.kind {
	case wire.KindDelete:
		b.DeleteAs(w.name, q.rect, q.id, found)
	case wire.KindUpdate:
		b.UpdateAs(w.name, q.rect, q.to, q.id, found)
	case wire.KindInsert:
		b.InsertAs(w.name, w.items, func(_ int, err error) { w.finish(nil, 0, err) })
	default:
		b.InsertAs(w.name, w.items, func(n int, err error) {
			w.finish(binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(n), err)
		})
	}
}

func (w *keptWrite) finish(out []byte, done uint64, err error) {
	if w.as.rec != nil {
		if w.req.kind == wire.KindInsertMany {
			for _, it := range w.items {
				w.req.items = wire.AppendItem(w.req.items, it)
			}
		}
		w.as.record(&w.req, out, done, err)
	}
	w.done = done
	w.reply(out, goneOr(w.req.coll, err))
}
