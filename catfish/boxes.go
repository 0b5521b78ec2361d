package catfish

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/rstar"
	"github.com/catfish-index/catfish/store"
)

// Collections of boxes that are kept, at the server
//
// Such a collection is the store's (store.Boxes), in memory that clients may read.
// Reads are those of any collection of boxes, by message and by offloading. Writes
// are answered later (later.go), when the commit leader has made them durable; those
// of one connection pass the commit queue in the order of their arrival.

// BoxesOptions configure a collection of boxes. They do not change.
type BoxesOptions struct {
	// Keep stores the collection in the server's data directory (ErrNotPermitted:
	// the server has none): each write is durable when it is acknowledged, as far as
	// ServerOptions.Sync says, and the boxes exist again after a restart.
	Keep bool
}

// CreateBoxes adds a collection of boxes, unless there is one of that name
// (ErrKind: of another kind; store.ErrCollectionExists: o.Keep is set, and the
// existing one is not kept). See CreateCollection.
func (c *Client) CreateBoxes(ctx context.Context, name string, o BoxesOptions) error {
	if !o.Keep {
		return c.CreateCollection(ctx, name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	_, err := c.manage(ctx, kindCreateKept, "create collections that are kept", name)
	return err
}

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
		return nil, fmt.Errorf("%w: %q is one of %s, and not of boxes that are kept", ErrKind, name, c.kind())
	}
	return c.boxes, nil
}

// ownTree is the tree of a collection, which the server's owner may write. It fails
// for a kept collection: the store would not learn of such writes.
func (c *collection) ownTree() (*rstar.Tree, error) {
	if err := c.isOf(KindBoxes); err != nil {
		return nil, err
	}
	if c.boxes != nil {
		return nil, fmt.Errorf("%w: collection %q is kept, and written by Server.Kept alone", ErrNotPermitted, c.name)
	}
	return c.tree, nil
}

// makeKept makes the store create a collection.
func (f *features) makeKept(name string) (*collection, error) {
	if f.s.opts.DataDir == "" {
		return nil, fmt.Errorf("%w: boxes %q cannot be kept: the server has no data directory", ErrNotPermitted, name)
	}
	st, err := f.opened()
	if err != nil {
		return nil, err
	}
	b, err := st.CreateBoxes(name)
	if err != nil {
		f.mu.Lock()
		delete(f.made, name) // The store has freed it.
		f.mu.Unlock()
		return nil, err
	}
	own := f.takeBoxes(b)
	if own == nil {
		return nil, fmt.Errorf("%w: collection %q was made by others", ErrServer, name)
	}
	return own, nil
}

// takeBoxes returns the collection whose memory was made for b.
func (f *features) takeBoxes(b *store.Boxes) *collection {
	own := f.takeMade(b.Name())
	if own != nil {
		own.boxes, own.tree = b, b.Tree()
	}
	return own
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
	case kindInsert:
		w.items = []rstar.Item{{Rect: req.rect, ID: req.id}}
	case kindInsertMany:
		w.items = make([]rstar.Item, 0, len(req.items)/itemBytes)
		for p := req.items; len(p) > 0; p = p[itemBytes:] {
			w.items = append(w.items, getItem(p))
		}
	}
	if v.s.rec != nil {
		w.as = service{s: v.s, via: v.via, client: v.client}
	}
	v.pending = w
	return nil
}

func (w *keptWrite) keeps() int { return len(w.items) * itemBytes }
func (w *keptWrite) refused()   {}

func (w *keptWrite) begin(a lateAnswer) {
	b, q := w.req.coll.boxes, &w.req
	found := func(ok bool, err error) { w.answer(a, appendBool(nil, ok), 0, err) }
	switch q.kind {
	case kindDelete:
		b.DeleteLater(q.rect, q.id, found)
	case kindUpdate:
		b.UpdateLater(q.rect, q.to, q.id, found)
	case kindInsert:
		b.InsertLater(w.items, func(_ int, err error) { w.answer(a, nil, 0, err) })
	default:
		b.InsertLater(w.items, func(n int, err error) {
			w.answer(a, binary.LittleEndian.AppendUint64(nil, uint64(n)), uint64(n), err)
		})
	}
}

func (w *keptWrite) answer(a lateAnswer, out []byte, done uint64, err error) {
	if w.as.s != nil {
		if w.req.kind == kindInsertMany {
			for _, it := range w.items {
				w.req.items = appendItem(w.req.items, it)
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
	if err := checkName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err) // the client has checked it
	}
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", ErrNotPermitted)
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
	if _, err := f.ready(); errors.Is(err, ErrNotReady) {
		return err
	}
	return nil
}
