package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// upload sends the bytes of a feature that exceeds a message in parts, as those of
// a record (recordlargeclient.go), and returns the number that stands for them in the
// request that stores it. up owns the number until that request is answered. An upload
// that is lost before has changed nothing.
func (r *remoteFeatures) upload(ctx context.Context, s *session, o *openSlab, up *uploading, value []byte) (number []byte, err error) {
	if len(value) > record.MaxValueBytes {
		return nil, fmt.Errorf("%w: feature of %d bytes, limit %d", record.ErrTooLarge, len(value), record.MaxValueBytes)
	}
	select {
	case up.number = <-s.uploads:
		up.of = s.uploads
	case <-s.caller.Done():
		return nil, fmt.Errorf("%w: the connection ended", model.ErrNotSent)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", model.ErrNotSent, ctx.Err())
	}
	most := s.mostPayload() - wire.HeadBytes - wire.PartBytes
	for at := 0; at < len(value); {
		part := value[at:min(at+most, len(value))]
		b := append(wire.AppendPart(wire.AppendHead(nil, o.coll, up.number), at, len(value)), part...)
		_, err := s.call(ctx, wire.KindPart, b, nil)
		if errors.Is(err, model.ErrUnknownOutcome) {
			err = fmt.Errorf("%w: part at %d of %d bytes: %s", model.ErrNotSent, at, len(value), err.Error())
		}
		if err != nil {
			return nil, err
		}
		r.c.conn.counters.addMessage(len(b), 0)
		at += len(part)
	}
	return binary.LittleEndian.AppendUint32(nil, up.number), nil
}
