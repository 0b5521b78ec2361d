package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// errNotYet ends the wait of a request whose record is not as wanted in time.
var errNotYet = errors.New("not yet")

// awaitRecord returns the task of a wait for a record with a value. It is answered when a write
// makes it so, or after a while, as a watch is (featurewatchserver.go): the client asks again. The
// wait of a client that gave up, or has disconnected, lasts until then.
func (v *service) awaitRecord(from *peer, c *collection, ms uint32, p []byte) (*task, error) {
	key, value, err := wire.CutKey(p)
	if err == nil {
		err = checkShard(c, key)
	}
	if err == nil && len(key) == 0 {
		err = fmt.Errorf("%w: a wait for no key", model.ErrProtocol)
	}
	if err != nil {
		return nil, err
	}
	kept := append([]byte(nil), p...) // The request ends with process.
	key, value = kept[len(p)-len(value)-len(key):len(p)-len(value)], kept[len(p)-len(value):]
	t := v.newWork(from, func(t *task) ([]byte, error) {
		if err := c.MayRead(key); err != nil {
			return nil, err
		}
		wait := min(time.Duration(ms)*time.Millisecond, mostWait)
		ctx, cancel := context.WithTimeoutCause(t.s.ctx, wait, errNotYet)
		defer cancel()
		e, err := c.Records.WaitFor(ctx, key, value)
		switch {
		case errors.Is(err, errNotYet):
		case err != nil && t.s.ctx.Err() != nil:
			return nil, fmt.Errorf("%w: the server is closing", model.ErrNotReady)
		case err != nil:
			return nil, cmp.Or(c.Gone(), err)
		}
		if err := cmp.Or(c.Gone(), c.MayRead(key)); err != nil {
			return nil, err
		}
		f := wire.Found{Revision: e.Revision, Expiry: e.Expiry, ValueBytes: uint32(len(e.Value)), Flags: e.Flags}
		return f.Append(nil), nil
	})
	t.keeps = len(kept)
	return t, nil
}
