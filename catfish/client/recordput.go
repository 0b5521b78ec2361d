package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// Put stores a record in place of the one that its key has, if there is one, and
// returns its revision. ErrExists, ErrConflict: the condition does not hold,
// and nothing was changed. ErrUnknownOutcome: get the record before repeating the
// Put, or use a condition.
//
// A Put that exceeds a message (64 KB with the default ring, 10 KB over plain sockets)
// is sent in parts, each of which waits for its answer. No client sees any of it before
// it is complete; then the condition is checked. Up to 8 such Puts of a Client are in
// flight at a time; others wait. record.ErrTooLarge: see Record. ErrBusy: the
// server has no room, or no part came for 10 s; nothing was changed.
func (r *Records) Put(ctx context.Context, rec model.Record, cond model.Condition) (revision uint64, err error) {
	if k := r.several(); k != nil {
		return k.put(ctx, rec, cond)
	}
	w := newPutQuery(wire.KindPut, r.c, rec, cond)
	defer w.release()
	ans, err := w.send(ctx)
	if err != nil {
		return 0, err
	}
	return wire.GetRevision(ans)
}

// Append puts rec.Value behind the value of the key's record, whose expiry and flags stay, and
// returns the record's revision; without a record it is Put. The server does it in one
// step: no Append is lost among those of other clients. record.ErrTooLarge: the value would
// exceed kv.MostAppended, or rec.Value a message. Other errors are Put's. ErrUnknownOutcome
// of one server: the value may have been appended; in a group it is appended once.
func (r *Records) Append(ctx context.Context, rec model.Record, cond model.Condition) (revision uint64, err error) {
	if k := r.several(); k != nil {
		return k.append(ctx, rec, cond)
	}
	w := newPutQuery(wire.KindAppend, r.c, rec, cond)
	defer w.release()
	ans, err := w.send(ctx)
	if err != nil {
		return 0, err
	}
	return wire.GetRevision(ans)
}

// Delete removes the record of a key. ErrNotFound: there is none.
func (r *Records) Delete(ctx context.Context, key []byte, cond model.Condition) error {
	if k := r.several(); k != nil {
		return k.delete(ctx, key, cond)
	}
	w := newPutQuery(wire.KindRemove, r.c, model.Record{Key: key}, cond)
	defer w.release()
	_, err := w.send(ctx)
	return err
}

// ifPresent is what servers cannot that do not know wire.KindAppend.
const ifPresent = "write only what is present"

// putQuery is a Put, Append, Delete or WaitFor. Pooled: a client that writes much makes no garbage.
type putQuery struct {
	ctx  context.Context // of the call
	kind fastmsg.Kind
	c    *Client
	rec  model.Record
	cond kv.Condition

	uploading uploading // a value that exceeds a message

	req, ans []byte
	build    func(*session) (*openSlab, []byte, error) // made once: a method value allocates
}

var puts = sync.Pool{New: func() any {
	w := new(putQuery)
	w.build = w.encode
	return w
}}

func newPutQuery(kind fastmsg.Kind, c *Client, rec model.Record, cond kv.Condition) *putQuery {
	w := puts.Get().(*putQuery)
	w.kind, w.c, w.rec, w.cond = kind, c, rec, cond
	return w
}

func (w *putQuery) release() {
	w.uploading.end()
	w.ctx, w.c, w.rec = nil, nil, model.Record{}
	puts.Put(w)
}

func (w *putQuery) send(ctx context.Context) (_ []byte, err error) {
	if err := checkKey(w.rec.Key); err != nil {
		return nil, err
	}
	w.ctx = ctx
	ans, err := w.c.requestAppend(ctx, w.ans[:0], w.kind, w.build)
	if err == nil {
		w.ans = ans
	}
	return ans, err
}

// encode builds the request for a session.
func (w *putQuery) encode(s *session) (*openSlab, []byte, error) {
	o, err := w.openShard(s)
	if err != nil {
		return o, nil, err
	}
	switch {
	case s.knows(w.kind) && (s.knows(wire.KindAppend) || !w.cond.IfPresent):
	case w.kind == wire.KindAppend:
		return o, nil, s.cannot("append to records")
	case w.kind == wire.KindAwait:
		return o, nil, s.cannot("wait for records")
	case w.cond.IfPresent:
		return o, nil, s.cannot(ifPresent)
	}
	if n := wire.HeadBytes + wire.PutBytes + len(w.rec.Key); w.kind != wire.KindRemove && n+len(w.rec.Value) > s.mostPayload() {
		if w.kind == wire.KindPut {
			return w.upload(s, o)
		}
		return o, nil, fmt.Errorf("%w: %d bytes, a message takes %d", record.ErrTooLarge, len(w.rec.Value), s.mostPayload()-n)
	}
	if w.kind == wire.KindAwait {
		w.req = wire.AppendKey(wire.AppendHead(w.req[:0], o.coll, uint32(watchWait/time.Millisecond)), w.rec.Key)
	} else {
		w.req = w.appendHead(w.req[:0], o, 0)
	}
	if w.kind != wire.KindRemove {
		w.req = append(w.req, w.rec.Value...)
	}
	return o, w.req, nil
}

// appendHead builds the request up to the value.
func (w *putQuery) appendHead(b []byte, o *openSlab, flags uint32) []byte {
	b = wire.AppendRevision(wire.AppendHead(b, o.coll, wire.ConditionOf(w.cond)|flags), w.cond.IfRevision)
	if w.kind == wire.KindRemove {
		return append(b, w.rec.Key...)
	}
	expiry := uint64(0)
	if !w.rec.Expires.IsZero() {
		expiry = uint64(w.rec.Expires.UnixNano())
	}
	return wire.AppendPut(b, expiry, w.rec.Flags, w.rec.Key)
}
