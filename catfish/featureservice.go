package catfish

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// Requests about features, at the server
//
// A search that looks at few features is answered at once. Others, and all writes,
// are answered later (later.go): a search by a goroutine of its own, in turn with
// other requests that take long; a write when the store's door has let it through.

// soonFeatures is how many features a request may look at at once: 0.1 to 0.3 ms.
const soonFeatures = 512

// isFeatures tells requests about features from others.
func isFeatures(k fastmsg.Kind) bool { return k >= kindFind && k <= kindEraseWhere }

// openFeatures is the answer to a client that opens c.
func (v *service) openFeatures(c *collection) *openFeatures {
	o := &openFeatures{openRecords: *v.openRecords(c), nodeBytes: uint32(c.tree.NodeBytes()), space: c.features.Options().Space}
	region, n := c.slab.reach(v.transport)
	o.treeBytes = uint64(n)
	if region != nil {
		o.tree = region.Remote()
	}
	return o
}

// answerFeatures carries out a request about features, or leaves it in v.pending.
func (v *service) answerFeatures(kind fastmsg.Kind, p, out []byte) ([]byte, error) {
	if len(p) < headBytes {
		return out, fmt.Errorf("%w: request kind %d of %d bytes", ErrProtocol, kind, len(p))
	}
	c, err := v.s.colls.byNumber(binary.LittleEndian.Uint32(p))
	if err == nil {
		err = c.isOf(KindFeatures)
	}
	if err != nil {
		return out, err
	}
	arg, p := binary.LittleEndian.Uint32(p[4:]), p[headBytes:]
	switch kind {
	case kindFind, kindNear, kindCountFeatures:
		out, err = v.findFeatures(c, kind, arg, p, out)
	case kindStore:
		err = v.storeFeatures(c, arg, p)
	case kindErase, kindPatch:
		err = v.changeFeature(c, kind, arg, p)
	case kindEraseWhere:
		err = v.eraseWhere(c, p)
	}
	if gone := c.gone(); gone != nil && errors.Is(err, store.ErrClosed) {
		return out[:0], gone
	}
	return out, err
}

// search is a find, near or countFeatures, ready to be carried out.
type search struct {
	c       *collection
	find    *store.Prepared
	near    *store.PreparedNearest
	count   bool
	ordered bool
}

func (c *collection) search(kind fastmsg.Kind, arg uint32, p []byte) (s search, err error) {
	s.c = c
	if kind == kindNear {
		q, err := getNear(arg, p)
		if err == nil {
			s.near, err = c.features.PrepareNearest(q)
		}
		return s, err
	}
	q, err := getFindQuery(p)
	if err != nil {
		return s, err
	}
	s.count, s.ordered = kind == kindCountFeatures, q.Order == store.ByID
	s.find, err = c.features.Prepare(q)
	return s, err
}

// run appends the answer to out.
func (q *search) run(s *Server, b *store.Buffer, out []byte) ([]byte, error) {
	if q.count {
		n := uint64(0)
		err := q.c.features.SearchWith(s.ctx, q.find, b, func(*store.Found) (bool, error) { n++; return true, nil })
		return binary.LittleEndian.AppendUint64(out, n), err
	}
	begin := len(out)
	out = append(out, 0)
	add := func(f *store.Found) (bool, error) {
		if len(out)-begin > 1 && len(out)-begin+len(f.ID)+len(f.Value)+foundBytes+10 > featureBytes {
			if !q.ordered {
				return false, fmt.Errorf("%w: the features found take more than %d bytes: set a limit, or ask in the order of ids",
					ErrTooLarge, featureBytes)
			}
			out[begin] = 1
			return false, nil
		}
		out = appendFeature(out, f)
		return true, nil
	}
	var err error
	if q.near != nil {
		err = q.c.features.NearestWith(q.near, b, add)
	} else {
		err = q.c.features.SearchWith(s.ctx, q.find, b, add)
	}
	return out, err
}

// findFeatures answers a search, or has it answered later.
func (v *service) findFeatures(c *collection, kind fastmsg.Kind, arg uint32, p, out []byte) ([]byte, error) {
	q, err := c.search(kind, arg, p)
	if err != nil {
		return out, err
	}
	begin := len(out)
	v.places.Budget = soonFeatures
	out, err = q.run(v.s, &v.places, out)
	if !errors.Is(err, store.ErrBudget) {
		return out, err
	}
	v.pending = &work{s: v.s, source: v.source(), do: func() ([]byte, error) {
		return q.run(v.s, new(store.Buffer), nil)
	}}
	return out[:begin], nil
}

// work is a request that another goroutine carries out, in turn with others.
type work struct {
	s      *Server
	source string
	do     func() ([]byte, error)
	bytes  int
}

func (w *work) keeps() int { return w.bytes }
func (w *work) refused()   {}

func (w *work) begin(a lateAnswer) {
	w.s.serving.Go(func() {
		var out []byte
		var err error
		if turned := w.s.turns.Run(w.s.ctx, w.source, func() { out, err = w.do() }); turned != nil {
			err = turned
		}
		if err == nil {
			err = w.s.roomFor(int64(len(out)))
		}
		if err != nil {
			a.fail(err, 0)
			return
		}
		a.reply(out)
	})
}

// stores is a store request.
type stores struct {
	c       *collection
	payload []byte // the places' values are in it
	places  []stored
	left    atomic.Int32
	bytes   int // of values that came in parts
	results []storeResult
}

type storeResult struct {
	revision uint64
	err      error
}

func (v *service) storeFeatures(c *collection, n uint32, p []byte) error {
	if n == 0 || n > maxStore {
		return fmt.Errorf("%w: %d places to store, want 1 to %d", ErrProtocol, n, maxStore)
	}
	if err := v.s.Room(); err != nil {
		return err
	}
	w := &stores{c: c, payload: bytes.Clone(p), results: make([]storeResult, n)}
	for rest := w.payload; len(w.places) < int(n) || len(rest) > 0; {
		if len(w.places) == int(n) {
			return fmt.Errorf("%w: %d places with %d bytes behind them", ErrProtocol, n, len(rest))
		}
		var pl stored
		var err error
		if pl, rest, err = getStored(rest); err != nil {
			return err
		}
		if pl.cond&putParts != 0 {
			if pl.value, err = v.bodyOf(c, pl.value); err != nil {
				return err
			}
			pl.cond &^= putParts
			w.bytes += len(pl.value)
		}
		if err := feature.CheckID(pl.id); err != nil {
			return fmt.Errorf("%w: %w", store.ErrFeature, err)
		}
		if _, err := feature.Parse(pl.value); err != nil {
			return fmt.Errorf("%w: %q: %w", store.ErrFeature, pl.id, err)
		}
		if _, err := getCondition(pl.cond, pl.revision); err != nil {
			return err
		}
		w.places = append(w.places, pl)
	}
	v.pending = w
	return nil
}

func (w *stores) keeps() int { return len(w.payload) + w.bytes }
func (w *stores) refused()   {}

func (w *stores) begin(a lateAnswer) {
	w.left.Store(int32(len(w.places)))
	for i := range w.places {
		p := &w.places[i]
		cond, _ := getCondition(p.cond, p.revision) // It was checked.
		w.c.features.PutEncoded(p.id, p.value, int64(p.expiry), cond, func(revision uint64, err error) {
			w.results[i] = storeResult{revision, w.c.goneOr(err)}
			if w.left.Add(-1) == 0 {
				w.answer(a)
			}
		})
	}
}

// goneOr is an error of the store, or that the collection was dropped.
func (c *collection) goneOr(err error) error {
	if gone := c.gone(); gone != nil && err != nil {
		return gone
	}
	return err
}

func (w *stores) answer(a lateAnswer) {
	if len(w.results) == 1 && w.results[0].err != nil {
		a.fail(w.results[0].err, 0)
		return
	}
	out := make([]byte, 0, 8*len(w.results))
	for _, r := range w.results {
		if r.err == nil {
			out = binary.LittleEndian.AppendUint64(out, r.revision)
			continue
		}
		failure := appendFailure(nil, r.err, 0)
		out = binary.LittleEndian.AppendUint64(out, 0)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(failure))), failure...)
	}
	a.reply(out)
}

// change is an erase or patch.
type change struct {
	c     *collection
	id    string
	patch []byte // nil: erase
	cond  kv.Condition
}

func (v *service) changeFeature(c *collection, kind fastmsg.Kind, arg uint32, p []byte) error {
	if len(p) < 8 {
		return fmt.Errorf("%w: change of %d bytes", ErrProtocol, len(p))
	}
	cond, err := getCondition(arg, binary.LittleEndian.Uint64(p))
	if err != nil {
		return err
	}
	id, rest, err := cutText(p[8:])
	if err != nil {
		return err
	}
	w := &change{c: c, id: string(id), cond: cond}
	if kind == kindPatch {
		if err := v.s.Room(); err != nil {
			return err
		}
		w.patch = append([]byte{}, rest...)
	}
	v.pending = w
	return nil
}

func (w *change) keeps() int { return len(w.patch) }
func (w *change) refused()   {}

func (w *change) begin(a lateAnswer) {
	done := func(revision uint64, err error) {
		if err != nil {
			a.fail(w.c.goneOr(err), 0)
			return
		}
		a.reply(binary.LittleEndian.AppendUint64(nil, revision))
	}
	if w.patch == nil {
		w.c.features.DeleteLater(w.id, w.cond, done)
		return
	}
	w.c.features.PatchLater(w.id, w.patch, w.cond, done)
}

func (v *service) eraseWhere(c *collection, p []byte) error {
	q, err := getFindQuery(p)
	if err != nil {
		return err
	}
	if _, err := c.features.Prepare(q); err != nil {
		return err
	}
	v.pending = &work{s: v.s, source: v.source(), do: func() ([]byte, error) {
		n, err := c.features.DeleteWhere(v.s.ctx, q)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), c.goneOr(err)
	}}
	return nil
}

// createFeatures has a collection of features made.
func (v *service) createFeatures(p []byte) error {
	o, name, err := getFeaturesOptions(p)
	if err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err) // the client has checked it
	}
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", ErrNotPermitted)
	}
	if err := v.s.Room(); err != nil {
		return err
	}
	s, a := v.s, v.s.clientColls.Open(v.source(), func(error) {})
	v.pending = &work{s: s, source: v.source(), do: func() ([]byte, error) {
		_, err := s.colls.create(name, s, newCollection{features: &o}, a)
		return nil, err
	}}
	return nil
}

// drop has a collection of features dropped.
func (v *service) dropFeatures(name string) {
	s := v.s
	v.pending = &work{s: s, source: v.source(), do: func() ([]byte, error) {
		ok, err := s.colls.drop(name, true)
		return appendBool(nil, ok), err
	}}
}
