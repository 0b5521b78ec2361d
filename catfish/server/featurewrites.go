package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// Writes of features, at the server
//
// Each is left in service.pending, and answered after its commit (later.go).

// stores is a store request.
type stores struct {
	c       *collection
	payload []byte // contains the places' values
	places  []wire.Stored
	left    atomic.Int32
	bytes   int // of values that came in parts
	says    bool
	results []storeResult
}

type storeResult struct {
	revision uint64
	replaced bool
	err      error
}

func (v *service) storeFeatures(c *collection, n uint32, p []byte) error {
	says := n&wire.StoreSays != 0
	n &^= wire.StoreSays
	if n == 0 || n > wire.MaxStore {
		return fmt.Errorf("%w: %d places to store, want 1 to %d", model.ErrProtocol, n, wire.MaxStore)
	}
	if err := v.s.CheckMemory(); err != nil {
		return err
	}
	w := &stores{c: c, payload: bytes.Clone(p), says: says, results: make([]storeResult, n)}
	for rest := w.payload; len(w.places) < int(n) || len(rest) > 0; {
		if len(w.places) == int(n) {
			return fmt.Errorf("%w: %d places with %d bytes behind them", model.ErrProtocol, n, len(rest))
		}
		var pl wire.Stored
		var err error
		if pl, rest, err = wire.GetStored(rest); err != nil {
			return err
		}
		if pl.Cond&wire.PutParts != 0 {
			if pl.Value, err = v.bodyOf(c, pl.Value); err != nil {
				return err
			}
			pl.Cond &^= wire.PutParts
			w.bytes += len(pl.Value)
		}
		if err := feature.CheckID(pl.Id); err != nil {
			return fmt.Errorf("%w: %w", store.ErrFeature, err)
		}
		if _, err := feature.Parse(pl.Value); err != nil {
			return fmt.Errorf("%w: %q: %w", store.ErrFeature, pl.Id, err)
		}
		if _, err := wire.GetCondition(pl.Cond, pl.Revision); err != nil {
			return err
		}
		w.places = append(w.places, pl)
	}
	v.pending = w
	return nil
}

func (w *stores) keeps() int { return len(w.payload) + w.bytes }

func (w *stores) refused() {}

func (w *stores) begin(a lateAnswer) {
	var all store.Writes
	w.put(&all, a)
	all.Submit()
}

// put adds the places to writes, whose Submit begins them.
func (w *stores) put(to *store.Writes, a lateAnswer) {
	w.left.Store(int32(len(w.places)))
	for i := range w.places {
		p := &w.places[i]
		cond, _ := wire.GetCondition(p.Cond, p.Revision) // It was checked before.
		to.Put(w.c.features, p.Id, p.Value, int64(p.Expiry), cond, func(revision uint64, replaced bool, err error) {
			w.results[i] = storeResult{revision, replaced, w.c.goneOr(err)}
			if w.left.Add(-1) == 0 {
				w.answer(a)
			}
		})
	}
}

func (w *stores) answer(a lateAnswer) {
	if len(w.results) == 1 && w.results[0].err != nil {
		a.fail(w.results[0].err, 0)
		return
	}
	out := make([]byte, 0, 9*len(w.results))
	for _, r := range w.results {
		if r.err == nil {
			out = binary.LittleEndian.AppendUint64(out, r.revision)
			if w.says {
				out = wire.AppendBool(out, r.replaced)
			}
			continue
		}
		failure := wire.AppendFailure(nil, r.err, 0)
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
		return fmt.Errorf("%w: change of %d bytes", model.ErrProtocol, len(p))
	}
	cond, err := wire.GetCondition(arg, binary.LittleEndian.Uint64(p))
	if err != nil {
		return err
	}
	id, rest, err := wire.CutText(p[8:])
	if err != nil {
		return err
	}
	w := &change{c: c, id: string(id), cond: cond}
	if kind == wire.KindPatch {
		if err := v.s.CheckMemory(); err != nil {
			return err
		}
		w.patch = append([]byte{}, rest...)
	}
	v.pending = w
	return nil
}

func (w *change) keeps() int { return len(w.patch) }

func (w *change) refused() {}

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
	q, err := wire.GetFindQuery(p)
	if err != nil {
		return err
	}
	v.pending = &work{s: v.s, source: v.source(), do: func(d *doing) ([]byte, error) {
		q.Pace, q.Rest, q.Hold = d.pause, d.End, d.keeps
		n, err := c.features.DeleteWhere(d.s.ctx, q)
		d.done = uint64(n)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), c.goneOr(err)
	}}
	return nil
}
