package server

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Requests that wait
//
// A check reads a whole tree under the writer's lock, and so does a bulk load. A
// worker must not wait for them, since its other clients would wait, too. So a check,
// or a write that meets one, is carried out by a goroutine of its own, and its
// connection is parked until then. Plain sockets have a goroutine anyhow.

// result is the outcome of a request.
type result struct {
	out  []byte
	done uint64 // of an insertMany
	err  error
}

// write carries out an insert, delete, update or insertMany. Unless it may wait, it can
// end with rstar.ErrLocked.
func write(req *request, out []byte, wait bool) result {
	t := req.coll.tree
	insert, remove, update := t.TryInsert, t.TryDelete, t.TryUpdate
	if wait {
		insert, remove, update = t.Insert, t.Delete, t.Update
	}
	switch req.kind {
	case wire.KindInsert:
		return result{out, 0, insert(req.rect, req.id)}
	case wire.KindDelete:
		ok, err := remove(req.rect, req.id)
		return result{wire.AppendBool(out, ok), 0, err}
	case wire.KindUpdate:
		ok, err := update(req.rect, req.to, req.id)
		return result{wire.AppendBool(out, ok), 0, err}
	}
	done := uint64(0)
	for p := req.items; len(p) > 0; p = p[wire.ItemBytes:] {
		it := wire.GetItem(p)
		if err := insert(it.Rect, it.ID); err != nil {
			return result{out, done, err}
		}
		done++
	}
	return result{binary.LittleEndian.AppendUint64(out, done), done, nil}
}

// write carries out a write, or leaves it in v.rest if the write would wait.
func (v *service) write(req *request, out []byte) result {
	wait := v.transport == model.TransportTCP
	r := write(req, out, wait)
	if wait || !errors.Is(r.err, rstar.ErrLocked) {
		return r
	}
	left := *req
	left.items = slices.Clone(req.items) // the payload's end with this call
	done := r.done
	v.rest = &long{apart: func() result {
		rest := left
		rest.items = left.items[min(int(done)*wire.ItemBytes, len(left.items)):]
		r := write(&rest, nil, true)
		if r.done += done; r.err == nil && left.kind == wire.KindInsertMany {
			r.out = binary.LittleEndian.AppendUint64(nil, r.done)
		}
		return r
	}, items: left.items}
	return result{out: out}
}

// beginApart starts a goroutine that carries out a request.
func (h *handler) beginApart(c *fastmsg.Conn, id uint64, l *long) {
	var ended chan result
	c.Continue(func(time.Duration) bool {
		if ended == nil {
			ended = make(chan result, 1)
			c.Park()
			h.s.serving.Go(func() {
				ended <- l.apart()
				c.Resume()
			})
			return false
		}
		r := <-ended
		if gone := l.req.coll.gone(); gone != nil {
			r = result{err: gone}
		}
		h.serves(c)
		h.record(&l.req, r.out, r.done, r.err)
		if r.err != nil {
			c.Respond(wire.KindFailure, id, wire.AppendFailure(nil, r.err, r.done))
		} else {
			c.Respond(wire.KindReply, id, r.out)
		}
		return true
	})
}
