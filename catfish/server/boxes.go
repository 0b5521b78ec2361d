package server

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
)

// CreateKept adds a collection of boxes that is kept in the data directory, unless
// there is one of that name, and returns it, for use in this process concurrently
// with remote clients. ErrNotPermitted: there is no data directory. ErrNotReady: the
// directory is being loaded. ErrKind, store.ErrCollectionExists: there is one of another
// kind, or one that is not kept.
func (s *Server) CreateKept(name string) (*store.Boxes, error) {
	c, err := s.colls.create(name, s, newCollection{keep: true}, nil)
	if err != nil {
		return nil, err
	}
	return c.boxes, nil
}

// Kept returns a collection of boxes that is kept. ErrKind: the collection is of another
// kind, or not kept.
func (s *Server) Kept(name string) (*store.Boxes, error) {
	c, err := s.lookUp(name, s.colls.byName)
	if err != nil {
		return nil, err
	}
	if c.boxes == nil {
		return nil, fmt.Errorf("%w: %q is one of %s, and not of boxes that are kept", model.ErrKind, name, c.kind())
	}
	return c.boxes, nil
}

// ownTree is the tree of a collection, which the server's owner may write. It fails
// for a kept collection: the store would not learn of such writes.
func (c *collection) ownTree() (*rstar.Tree, error) {
	if err := c.isOf(model.KindBoxes); err != nil {
		return nil, err
	}
	if c.boxes != nil {
		return nil, fmt.Errorf("%w: collection %q is kept, and written by Server.Kept alone", model.ErrNotPermitted, c.name)
	}
	return c.tree, nil
}

// keptWrite is a write to boxes that are kept.
type keptWrite struct {
	s     *Server
	req   request
	items []rstar.Item // of an insertMany
	as    service      // for the recording
}

// writeKept leaves a write in v.pending.
func (v *service) writeKept(req *request) error {
	w := &keptWrite{s: v.s, req: request{kind: req.kind, coll: req.coll, rect: req.rect, to: req.to, id: req.id}}
	switch req.kind {
	case wire.KindInsert:
		w.items = []rstar.Item{{Rect: req.rect, ID: req.id}}
	case wire.KindInsertMany:
		w.items = make([]rstar.Item, 0, len(req.items)/wire.ItemBytes)
		for p := req.items; len(p) > 0; p = p[wire.ItemBytes:] {
			w.items = append(w.items, wire.GetItem(p))
		}
	}
	if v.s.rec != nil {
		w.as = service{s: v.s, via: v.via, client: v.client}
	}
	v.pending = w
	return nil
}

func (w *keptWrite) keeps() int { return len(w.items) * wire.ItemBytes }

func (w *keptWrite) refused() {}

func (w *keptWrite) begin(a lateAnswer) {
	b, q := w.req.coll.boxes, &w.req
	found := func(ok bool, err error) { w.answer(a, wire.AppendBool(nil, ok), 0, err) }
	switch q.kind {
	case wire.KindDelete:
		b.DeleteLater(q.rect, q.id, found)
	case wire.KindUpdate:
		b.UpdateLater(q.rect, q.to, q.id, found)
	case wire.KindInsert:
		b.InsertLater(w.items, func(_ int, err error) { w.answer(a, nil, 0, err) })
	default:
		b.InsertLater(w.items, func(n int, err error) {
			w.answer(a, binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(n), err)
		})
	}
}

func (w *keptWrite) answer(a lateAnswer, out []byte, done uint64, err error) {
	if w.as.s != nil {
		if w.req.kind == wire.KindInsertMany {
			for _, it := range w.items {
				w.req.items = wire.AppendItem(w.req.items, it)
			}
		}
		w.as.record(&w.req, out, done, err)
	}
	if err != nil {
		a.fail(w.req.coll.goneOr(err), done)
		return
	}
	a.reply(out)
}

// createKept leaves the creation of a kept collection in v.pending.
func (v *service) createKept(p []byte) error {
	name := string(p)
	if err := wire.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", model.ErrProtocol, err) // the client has checked it
	}
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	if err := v.s.CheckMemory(); err != nil {
		return err
	}
	v.createLater(name, newCollection{keep: true})
	return nil
}

// notYet is ErrNotReady while the store may have a collection that clients cannot
// see yet.
func (f *features) notYet() error {
	if f.s == nil || f.s.opts.DataDir == "" {
		return nil
	}
	if _, err := f.ready(); errors.Is(err, model.ErrNotReady) {
		return err
	}
	return nil
}
