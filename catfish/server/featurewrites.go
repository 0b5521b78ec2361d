package server

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// Writes of features, at the server
//
// Each is a task, which replies after its commit.

// stores is a store request.
type stores struct {
	task
	c       *collection
	name    store.Name // of the first place
	payload []byte     // contains the places' values
	places  []wire.Stored
	left    atomic.Int32
	says    bool
	results []storeResult
}

type storeResult struct {
	revision uint64
	replaced bool
	err      error
}

func (v *service) storeFeatures(from *peer, c *collection, n uint32, p []byte) (*task, error) {
	says := n&wire.StoreSays != 0
	n &^= wire.StoreSays
	if n == 0 || n > wire.MaxStore {
		return nil, fmt.Errorf("%w: %d places to store, want 1 to %d", model.ErrProtocol, n, wire.MaxStore)
	}
	if err := v.s.CheckMemory(); err != nil {
		return nil, err
	}
	w := &stores{c: c, name: v.name, payload: bytes.Clone(p), says: says, results: make([]storeResult, n)}
	w.task = task{s: v.s, keeps: len(p), starts: w}
	for rest := w.payload; len(w.places) < int(n) || len(rest) > 0; {
		if len(w.places) == int(n) {
			return nil, fmt.Errorf("%w: %d places with %d bytes behind them", model.ErrProtocol, n, len(rest))
		}
		var pl wire.Stored
		var err error
		if pl, rest, err = wire.GetStored(rest); err != nil {
			return nil, err
		}
		if pl.Cond&wire.PutParts != 0 {
			if pl.Value, err = from.uploads.bodyOf(c, pl.Value); err != nil {
				return nil, err
			}
			pl.Cond &^= wire.PutParts
			w.keeps += len(pl.Value)
		}
		if err := feature.CheckID(pl.Id); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrFeature, err)
		}
		if _, err := feature.Parse(pl.Value); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", store.ErrFeature, pl.Id, err)
		}
		if _, err := wire.GetCondition(pl.Cond, pl.Revision); err != nil {
			return nil, err
		}
		w.places = append(w.places, pl)
	}
	return &w.task, nil
}

// start adds the places to the writes of the turn.
func (w *stores) start(turn *store.Writes) {
	w.left.Store(int32(len(w.places)))
	for i := range w.places {
		p := &w.places[i]
		cond, _ := wire.GetCondition(p.Cond, p.Revision) // It was checked before.
		name := w.name
		name.Number += uint64(i)
		turn.PutAs(name, w.c.Features, p.Id, p.Value, int64(p.Expiry), cond, func(revision uint64, replaced bool, err error) {
			w.results[i] = storeResult{revision, replaced, goneOr(w.c, err)}
			if w.left.Add(-1) == 0 {
				w.finish()
			}
		})
	}
}

func (w *stores) finish() {
	if len(w.results) == 1 && w.results[0].err != nil {
		w.reply(nil, w.results[0].err)
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
	w.reply(out, nil)
}

// change is an erase or patch.
type change struct {
	task
	c     *collection
	name  store.Name
	id    string
	patch []byte // nil: erase
	cond  kv.Condition
}

func (v *service) changeFeature(c *collection, kind fastmsg.Kind, arg uint32, p []byte) (*task, error) {
	if len(p) < 8 {
		return nil, fmt.Errorf("%w: change of %d bytes", model.ErrProtocol, len(p))
	}
	cond, err := wire.GetCondition(arg, binary.LittleEndian.Uint64(p))
	if err != nil {
		return nil, err
	}
	id, rest, err := wire.CutText(p[8:])
	if err != nil {
		return nil, err
	}
	w := &change{c: c, name: v.name, id: string(id), cond: cond}
	if kind == wire.KindPatch {
		if err := v.s.CheckMemory(); err != nil {
			return nil, err
		}
		w.patch = append([]byte{}, rest...)
	}
	w.task = task{s: v.s, keeps: len(w.patch), starts: w}
	return &w.task, nil
}

func (w *change) start(*store.Writes) {
	done := func(revision uint64, err error) {
		w.reply(binary.LittleEndian.AppendUint64(nil, revision), goneOr(w.c, err))
	}
	if w.patch == nil {
		w.c.Features.DeleteAs(w.name, w.id, w.cond, done)
		return
	}
	w.c.Features.PatchAs(w.name, w.id, w.patch, w.cond, done)
}

func (v *service) eraseWhere(from *peer, c *collection, p []byte) (*task, error) {
	q, err := wire.GetFindQuery(p)
	if err != nil {
		return nil, err
	}
	return v.newWork(from, func(t *task) ([]byte, error) {
		if err := t.pause(); err != nil {
			return nil, err
		}
		q.Pace, q.Rest, q.Hold = t.pause, t.End, t.holds
		n, err := c.Features.DeleteWhere(t.s.ctx, q)
		t.done = uint64(n)
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), goneOr(c, err)
	}), nil
}
