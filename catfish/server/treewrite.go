package server

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Writes of boxes in memory
//
// A check reads a whole tree under the writer's lock, and so does a bulk load. The
// goroutine that serves a connection must not wait for them, since other requests would
// wait, too. So a check, or a write that meets one, is a task.

// lockedWriteBytes counts the goroutine of a write that waits.
const lockedWriteBytes = 4 << 10

// write carries out a write, or returns a task if the write would wait.
func (v *service) write(from *peer, req *request, out []byte) result {
	r := write(req, out, false)
	if !errors.Is(r.err, rstar.ErrLocked) {
		return r
	}
	left, as := *req, v.as(from).shared()
	left.items = slices.Clone(req.items) // the payload's end with process
	t := v.newWork(from, func(t *task) ([]byte, error) {
		rest := left
		rest.items = left.items[min(int(t.done)*wire.ItemBytes, len(left.items)):]
		r := write(&rest, nil, true)
		if t.done += r.done; r.err == nil && left.kind == wire.KindInsertMany {
			r.out = binary.LittleEndian.AppendUint64(nil, t.done)
		}
		if gone := left.coll.Gone(); gone != nil {
			t.done, r.err = 0, gone
		}
		as.record(&left, r.out, t.done, r.err)
		return r.out, r.err
	})
	t.keeps, t.done = len(left.items)+lockedWriteBytes, r.done
	return result{out: out, task: t}
}

// write carries out an insert, delete, update or insertMany. Unless it may wait, it can
// end with rstar.ErrLocked.
func write(req *request, out []byte, wait bool) result {
	t := req.coll.Tree
	insert, remove, update := t.TryInsert, t.TryDelete, t.TryUpdate
	if wait {
		insert, remove, update = t.Insert, t.Delete, t.Update
	}
	switch req.kind {
	case wire.KindInsert:
		return result{out: out, err: insert(req.rect, req.id)}
	case wire.KindDelete:
		ok, err := remove(req.rect, req.id)
		return result{out: wire.AppendBool(out, ok), err: err}
	case wire.KindUpdate:
		ok, err := update(req.rect, req.to, req.id)
		return result{out: wire.AppendBool(out, ok), err: err}
	}
	done := uint64(0)
	for p := req.items; len(p) > 0; p = p[wire.ItemBytes:] {
		it := wire.GetItem(p)
		if err := insert(it.Rect, it.ID); err != nil {
			return result{out: out, done: done, err: err}
		}
		done++
	}
	return result{out: binary.LittleEndian.AppendUint64(out, done), done: done}
}
