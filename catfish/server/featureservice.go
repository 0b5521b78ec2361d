package server

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Requests about features, at the server
//
// A search that looks at few features is answered at once. Others, and all writes,
// are tasks (task.go): a search by a goroutine of its own, which shares the scheduling
// slots with other long requests; a write that replies after its commit.

// soonFeatures is how many features a request may look at at once: 0.1 to 0.3 ms.
const soonFeatures = 512

// isFeatures reports whether a kind of request is about features.
func isFeatures(k fastmsg.Kind) bool {
	return k >= wire.KindFind && k <= wire.KindEraseWhere || k >= wire.KindWatch && k <= wire.KindPick
}

// openFeatures is the answer to a client that opens c.
func (v *service) openFeatures(c *collection) *wire.OpenFeatures {
	o := &wire.OpenFeatures{OpenRecords: *v.openRecords(c), NodeBytes: uint32(c.Tree.NodeBytes()), Space: c.Features.Options().Space}
	region, n := slabOf(c, store.TreePart).reach(v.transport)
	o.TreeBytes = uint64(n)
	if region != nil {
		o.Tree = region.Remote()
	}
	return o
}

// answerFeatures carries out a request about features.
func (v *service) answerFeatures(from *peer, kind fastmsg.Kind, p, out []byte) (r result) {
	c, arg, body, err := v.s.head(kind, p)
	if err == nil {
		err = c.Is(store.KindFeatures)
	}
	if err != nil {
		return result{err: err}
	}
	switch kind {
	case wire.KindWatch:
		return v.watchFeatures(from, c, p, out)
	case wire.KindFind, wire.KindNear, wire.KindCountFeatures:
		r = v.findFeatures(from, c, kind, arg, body, out)
	case wire.KindStore:
		r = later(v.storeFeatures(from, c, arg, body))
	case wire.KindErase, wire.KindPatch:
		r = later(v.changeFeature(c, kind, arg, body))
	case wire.KindEraseWhere:
		r = later(v.eraseWhere(from, c, body))
	case wire.KindDescribe:
		r.task = v.newWork(from, func(t *task) ([]byte, error) {
			if err := t.pause(); err != nil {
				return nil, err
			}
			return describe(c)
		})
	case wire.KindPick:
		r = answered(v.pickFeatures(c, arg, body, out))
	}
	if gone := c.Gone(); gone != nil && errors.Is(r.err, store.ErrClosed) {
		return result{err: gone}
	}
	return r
}

// search is a find, near or count.
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

func searchOf(c *collection, kind fastmsg.Kind, arg uint32, p []byte) (s search, err error) {
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
		q.near, err = q.c.Features.PrepareNearest(q.nearest)
	} else {
		q.find, err = q.c.Features.Prepare(q.q)
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

// run appends the answer to out. t is nil if the search is carried out at once.
func (q *search) run(s *Server, b *store.Buffer, out []byte, t *task) ([]byte, error) {
	if t != nil {
		if err := t.pause(); err != nil {
			return nil, err
		}
		if q.near != nil {
			q.near.Pace, q.near.Hold = t.pause, t.holds
		} else {
			q.find.Pace, q.find.Hold = t.pause, t.holds
		}
	}
	if q.count {
		n := uint64(0)
		err := q.c.Features.SearchWith(s.ctx, q.find, b, func(*store.Found) (bool, error) { n++; return true, nil })
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
		return true, t.answers(cap(out))
	}
	var err error
	if q.near != nil {
		err = q.c.Features.NearestWith(s.ctx, q.near, b, add)
	} else {
		err = q.c.Features.SearchWith(s.ctx, q.find, b, add)
	}
	return out, err
}

// findFeatures answers a search.
func (v *service) findFeatures(from *peer, c *collection, kind fastmsg.Kind, arg uint32, p, out []byte) result {
	q, err := searchOf(c, kind, arg, p)
	if err != nil {
		return result{err: err}
	}
	rest := func(t *task) ([]byte, error) { return q.run(t.s, new(store.Buffer), nil, t) }
	if !c.Features.PreparesSoon(q.filter()) {
		// Compiling it would delay this worker's other clients.
		return later(v.newWork(from, func(t *task) ([]byte, error) {
			if err := t.pause(); err != nil {
				return nil, err
			}
			if err := q.prepare(); err != nil {
				return nil, goneOr(c, err)
			}
			return rest(t)
		}), nil)
	}
	if err := q.prepare(); err != nil {
		return result{err: err}
	}
	v.places.Budget = soonFeatures
	out, err = q.run(v.s, &v.places, out, nil)
	if errors.Is(err, store.ErrBudget) {
		return result{out: out, task: v.newWork(from, rest)}
	}
	return answered(out, err)
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
	err = c.Features.GetMany(v.s.ctx, ids, func(i int, f *store.Found) (bool, error) {
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

// describe answers a client.
func describe(c *collection) ([]byte, error) {
	d, err := c.Features.Describe()
	if err != nil {
		return nil, goneOr(c, err)
	}
	return json.Marshal(d)
}
