package server

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/store"
	"github.com/catfish-index/catfish/store/query"
)

// Requests about features, at the server
//
// A search that looks at few features is answered at once. Others, and all writes,
// are answered later (later.go): a search by a goroutine of its own, which shares the
// scheduling slots with other long requests; a write after its commit.

// soonFeatures is how many features a request may look at at once: 0.1 to 0.3 ms.
const soonFeatures = 512

// isFeatures reports whether a kind of request is about features.
func isFeatures(k fastmsg.Kind) bool {
	return k >= wire.KindFind && k <= wire.KindEraseWhere || k >= wire.KindWatch && k <= wire.KindPick
}

// openFeatures is the answer to a client that opens c.
func (v *service) openFeatures(c *collection) *wire.OpenFeatures {
	o := &wire.OpenFeatures{OpenRecords: *v.openRecords(c), NodeBytes: uint32(c.tree.NodeBytes()), Space: c.features.Options().Space}
	region, n := c.slab.reach(v.transport)
	o.TreeBytes = uint64(n)
	if region != nil {
		o.Tree = region.Remote()
	}
	return o
}

// answerFeatures carries out a request about features, or leaves it in v.pending.
func (v *service) answerFeatures(kind fastmsg.Kind, p, out []byte) ([]byte, error) {
	if len(p) < wire.HeadBytes {
		return out, fmt.Errorf("%w: request kind %d of %d bytes", model.ErrProtocol, kind, len(p))
	}
	c, err := v.s.colls.byNumber(binary.LittleEndian.Uint32(p))
	if err == nil {
		err = c.isOf(model.KindFeatures)
	}
	if err != nil {
		return out, err
	}
	if kind == wire.KindWatch {
		return v.watchFeatures(c, p, out)
	}
	arg, p := binary.LittleEndian.Uint32(p[4:]), p[wire.HeadBytes:]
	switch kind {
	case wire.KindFind, wire.KindNear, wire.KindCountFeatures:
		out, err = v.findFeatures(c, kind, arg, p, out)
	case wire.KindStore:
		err = v.storeFeatures(c, arg, p)
	case wire.KindErase, wire.KindPatch:
		err = v.changeFeature(c, kind, arg, p)
	case wire.KindEraseWhere:
		err = v.eraseWhere(c, p)
	case wire.KindDescribe:
		v.pending = &work{s: v.s, source: v.source(), do: func(*doing) ([]byte, error) { return c.describe() }}
	case wire.KindPick:
		out, err = v.pickFeatures(c, arg, p, out)
	}
	if gone := c.gone(); gone != nil && errors.Is(err, store.ErrClosed) {
		return out[:0], gone
	}
	return out, err
}

// search is a find, near or countFeatures.
type search struct {
	c       *collection
	q       store.Query
	nearest store.NearestQuery // if isNear
	isNear  bool
	count   bool
	ordered bool

	// prepare sets find.
	find *store.Prepared
	near *store.PreparedNearest
}

func (c *collection) search(kind fastmsg.Kind, arg uint32, p []byte) (s search, err error) {
	s.c, s.isNear = c, kind == wire.KindNear
	if s.isNear {
		s.nearest, err = wire.GetNear(arg, p)
		return s, err
	}
	s.q, err = wire.GetFindQuery(p)
	s.count, s.ordered = kind == wire.KindCountFeatures, s.q.Order == query.ByID
	return s, err
}

func (q *search) prepare() (err error) {
	if q.isNear {
		q.near, err = q.c.features.PrepareNearest(q.nearest)
	} else {
		q.find, err = q.c.features.Prepare(q.q)
	}
	return err
}

// filter is the text of the filter.
func (q *search) filter() string {
	if q.isNear {
		return q.nearest.Filter
	}
	return q.q.Filter
}

// run appends the answer to out. d is nil if the search is carried out at once.
func (q *search) run(s *Server, b *store.Buffer, out []byte, d *doing) ([]byte, error) {
	if d != nil {
		if q.near != nil {
			q.near.Pace, q.near.Hold = d.pause, d.keeps
		} else {
			q.find.Pace, q.find.Hold = d.pause, d.keeps
		}
	}
	if q.count {
		n := uint64(0)
		err := q.c.features.SearchWith(s.ctx, q.find, b, func(*store.Found) (bool, error) { n++; return true, nil })
		return binary.LittleEndian.AppendUint64(out, n), err
	}
	begin := len(out)
	out = append(out, 0)
	add := func(f *store.Found) (bool, error) {
		if len(out)-begin > 1 && len(out)-begin+len(f.ID)+len(f.Value)+wire.FoundBytes+10 > wire.FeatureBytes {
			if !q.ordered {
				return false, fmt.Errorf("%w: the features found take more than %d bytes: set a limit, or ask in the order of ids",
					model.ErrTooLarge, wire.FeatureBytes)
			}
			out[begin] = 1
			return false, nil
		}
		out = wire.AppendFeature(out, f)
		return true, d.answers(cap(out))
	}
	var err error
	if q.near != nil {
		err = q.c.features.NearestWith(s.ctx, q.near, b, add)
	} else {
		err = q.c.features.SearchWith(s.ctx, q.find, b, add)
	}
	return out, err
}

// findFeatures answers a search, or leaves it in v.pending.
func (v *service) findFeatures(c *collection, kind fastmsg.Kind, arg uint32, p, out []byte) ([]byte, error) {
	q, err := c.search(kind, arg, p)
	if err != nil {
		return out, err
	}
	if !c.features.PreparesSoon(q.filter()) {
		// Compiling it would delay this worker's other clients.
		v.pending = &work{s: v.s, source: v.source(), do: func(d *doing) ([]byte, error) {
			if err := q.prepare(); err != nil {
				return nil, c.goneOr(err)
			}
			return q.run(d.s, new(store.Buffer), nil, d)
		}}
		return out, nil
	}
	if err := q.prepare(); err != nil {
		return out, err
	}
	begin := len(out)
	v.places.Budget = soonFeatures
	out, err = q.run(v.s, &v.places, out, nil)
	if !errors.Is(err, store.ErrBudget) {
		return out, err
	}
	v.pending = &work{s: v.s, source: v.source(), do: func(d *doing) ([]byte, error) {
		return q.run(d.s, new(store.Buffer), nil, d)
	}}
	return out[:begin], nil
}

// pickFeatures answers a get of selected parts of n features.
func (v *service) pickFeatures(c *collection, n uint32, p, out []byte) ([]byte, error) {
	if n == 0 || n > wire.MaxKeys {
		return out, fmt.Errorf("%w: %d features to pick, want 1 to %d", model.ErrProtocol, n, wire.MaxKeys)
	}
	fields, p, err := wire.GetSelection(p)
	if err != nil {
		return out, err
	}
	ids := make([]string, n)
	for i := range ids {
		var id []byte
		if id, p, err = wire.CutText(p); err != nil {
			return out, err
		}
		ids[i] = string(id)
	}
	if len(p) > 0 {
		return out, fmt.Errorf("%w: %d features to pick, with %d bytes behind them", model.ErrProtocol, n, len(p))
	}
	begin := len(out)
	err = c.features.GetMany(v.s.ctx, ids, func(i int, f *store.Found) (bool, error) {
		var head wire.Found
		if f == nil {
			out = head.Append(out)
			return true, nil
		}
		v.cut = f.Cut(v.cut[:0], &fields)
		head = wire.Found{Revision: f.Revision, Expiry: f.Expiry, ValueBytes: uint32(len(f.Value))}
		if i > 0 && len(out)-begin+len(f.Value)+wire.FoundBytes > wire.FeatureBytes {
			head = wire.Found{ValueBytes: wire.Unanswered}
			for range ids[i:] {
				out = head.Append(out)
			}
			return false, nil
		}
		out = append(head.Append(out), f.Value...)
		return true, nil
	})
	return out, err
}

// goneOr returns an error of the store, or that the collection was dropped.
func (c *collection) goneOr(err error) error {
	if gone := c.gone(); gone != nil && err != nil {
		return gone
	}
	return err
}

// createFeatures leaves the creation of a collection of features in v.pending.
func (v *service) createFeatures(p []byte) error {
	o, name, err := wire.GetFeaturesOptions(p)
	if err != nil {
		return err
	}
	if err := wire.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", model.ErrProtocol, err) // the client has checked it
	}
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	if err := v.s.CheckMemory(); err != nil {
		return err
	}
	v.createLater(name, newCollection{features: &o})
	return nil
}

// createLater leaves the creation of a collection in v.pending. The store's creation waits
// for the disk, and others wait for it, so it holds no scheduling slot and no worker.
func (v *service) createLater(name string, what newCollection) {
	s, source := v.s, v.source()
	v.pending = &work{s: s, source: source, do: func(d *doing) ([]byte, error) {
		d.End()
		// After pause: a client that has hung up gets no collection.
		_, err := s.colls.create(name, s, what, s.clientColls.Open(source, func(error) {}))
		return nil, err
	}}
}

// dropLater leaves the drop of a collection in v.pending: see createLater.
func (v *service) dropLater(name string) {
	s := v.s
	v.pending = &work{s: s, source: v.source(), do: func(d *doing) ([]byte, error) {
		d.End()
		ok, err := s.colls.drop(s, name, true)
		return wire.AppendBool(nil, ok), err
	}}
}
