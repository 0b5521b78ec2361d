package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// Values in parts, at the client (records.go of package wire): each part waits for the
// answer to the one before it. An upload that is lost before the put itself was sent
// has changed nothing, so the client begins it again on the next connection.

// mostPayload is the largest request that the session's connection takes, with a name or
// without.
func (s *session) mostPayload() int {
	if m, ok := s.caller.(interface{ MaxPayload() int }); ok {
		if s.takes(wire.KindPut) {
			return m.MaxPayload() - wire.NameBytes
		}
		return m.MaxPayload()
	}
	return wire.MaxPayload
}

// uploadNumbers are the numbers of uploads that a session may still begin.
type uploadNumbers chan uint32

func newUploadNumbers() uploadNumbers {
	n := make(uploadNumbers, wire.MaxUploads)
	for i := range uint32(wire.MaxUploads) {
		n <- i
	}
	return n
}

// uploading is the upload number that a Put uses.
type uploading struct {
	of     uploadNumbers // nil: none
	number uint32
}

func (u *uploading) end() {
	if u.of != nil {
		u.of <- u.number
		u.of = nil
	}
}

// upload sends the value of w in parts, and makes the request that puts it.
func (w *putQuery) upload(s *session, o *openSlab) (*openSlab, []byte, error) {
	if n := len(w.rec.Value); n > record.MaxValueBytes {
		return o, nil, fmt.Errorf("%w: value of %d bytes, limit %d", record.ErrTooLarge, n, record.MaxValueBytes)
	}
	if !s.knows(wire.KindPart) {
		return o, nil, fmt.Errorf("%w: server %s at %s is older than this client %s and takes no values in parts; update the server",
			model.ErrVersionMismatch, s.hello.Version, s.server, model.Version)
	}
	w.uploading.end() // the number of a session that is lost
	select {
	case w.uploading.number = <-s.uploads:
		w.uploading.of = s.uploads
	case <-s.caller.Done():
		return o, nil, fmt.Errorf("%w: the connection ended", model.ErrNotSent)
	case <-w.ctx.Done():
		return o, nil, fmt.Errorf("%w: %w", model.ErrNotSent, w.ctx.Err())
	}
	most := s.mostPayload() - wire.HeadBytes - wire.PartBytes
	for at := 0; at < len(w.rec.Value); {
		part := w.rec.Value[at:min(at+most, len(w.rec.Value))]
		w.req = wire.AppendPart(wire.AppendHead(w.req[:0], o.coll, w.uploading.number), at, len(w.rec.Value))
		w.req = append(w.req, part...)
		ans, err := s.callOf(w.ctx, o, wire.KindPart, w.req, w.ans[:0])
		if err == nil && len(ans) > 0 {
			err = fmt.Errorf("%w: a part answered %d bytes, want none", model.ErrProtocol, len(ans))
		}
		switch {
		case errors.Is(err, model.ErrUnknownCollection):
			s.forget(o)
			o, err = w.openShard(s)
			if at = 0; err == nil {
				continue
			}
		case errors.Is(err, model.ErrUnknownOutcome):
			err = fmt.Errorf("%w: part at %d of %d bytes: %s", model.ErrNotSent, at, len(w.rec.Value), err.Error())
		}
		if err != nil {
			return o, nil, err
		}
		w.c.conn.counters.addMessage(len(w.req), 0)
		at += len(part)
	}
	w.req = binary.LittleEndian.AppendUint32(w.appendHead(w.req[:0], o, wire.PutParts), w.uploading.number)
	return o, w.req, nil
}
