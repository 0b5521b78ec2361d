package client

import (
	"context"
	"fmt"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// WaitFor waits until the key has a record with this value, and returns the record, whose Key and
// Value are the caller's. A write wakes it, also one after which another follows at once; a record
// that is so only while the connection is lost may be missed. A Put, an Append and a Get
// by any path after it see the record or a later one. The error is ctx's if that ends first;
// record.ErrTooLarge: the value exceeds a message; ErrBusy: too many calls wait.
func (r *Records) WaitFor(ctx context.Context, key, value []byte) (rec model.Record, err error) {
	if k := r.several(); k != nil {
		return k.waitFor(ctx, key, value)
	}
	for {
		f, err := r.wait(ctx, key, value)
		switch {
		case ctx.Err() != nil && f.Revision == 0:
			return model.Record{}, fmt.Errorf("waiting for %q: %w", key, context.Cause(ctx))
		case err != nil:
			return model.Record{}, err
		case f.Revision != 0:
			return model.Record{Key: key, Value: value, Revision: f.Revision, Flags: f.Flags, Expires: wire.Expires(f.Expiry)}, nil
		}
	}
}

// wait makes one request. Revision is 0 if the record is not so yet.
func (r *Records) wait(ctx context.Context, key, value []byte) (f wire.Found, err error) {
	of := ctx
	ctx, cancel := context.WithTimeout(ctx, watchWait+watchPatience)
	defer cancel()
	w := newPutQuery(wire.KindAwait, r.c, model.Record{Key: key, Value: value}, model.Condition{})
	defer w.release()
	ans, err := w.send(ctx)
	switch {
	case err != nil && ctx.Err() != nil && of.Err() == nil:
		return f, nil // The answer is lost.
	case err != nil:
		return f, err
	case len(ans) != wire.FoundBytes:
		return f, fmt.Errorf("%w: a wait answered with %d bytes, want %d", model.ErrProtocol, len(ans), wire.FoundBytes)
	}
	return wire.GetFound(ans), nil
}
