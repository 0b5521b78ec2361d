package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store"
)

// store stores the batch, and records the result of each feature since the last one.
func (u *upload) store() error {
	all, err := u.putBatch()
	if err != nil {
		u.batch, u.next = nil, nil // The batch is not retried.
		return err
	}
	var failed error
	for _, r := range u.next {
		var s store.Stored
		if r.bad == nil {
			s, all = all[0], all[1:]
			if r.bad = s.Err; r.bad != nil && !isOfFeature(r.bad) {
				failed = r.bad
			}
		}
		if r.bad != nil {
			err = u.told.reject(r.index, r.id, r.bad)
		} else {
			err = u.told.stored(r.index, r.id, s)
		}
		if err != nil {
			return err
		}
	}
	clear(u.batch)
	clear(u.next)
	u.batch, u.next, u.bytes = u.batch[:0], u.next[:0], 0
	if failed != nil {
		return failed
	}
	return u.hold(&u.holds.search, 0)
}

// putBatch stores the batch, and waits for its commit.
func (u *upload) putBatch() ([]store.Stored, error) {
	n := len(u.batch)
	if n == 0 {
		return nil, nil
	}
	if err := u.host.CheckMemory(); err != nil {
		return nil, err
	}
	u.turns.End() // The commit wait needs no slot.
	all, done, left := make([]store.Stored, n), make(chan struct{}), atomic.Int64{}
	left.Store(int64(n))
	u.c.PutTogether(u.batch, func(i int, s store.Stored) {
		if all[i] = s; left.Add(-1) == 0 {
			close(done)
		}
	})
	select {
	case <-done:
		return all, nil
	case <-u.ctx.Done():
		return nil, fmt.Errorf("whether the last %d features were stored is unknown: %w", n, context.Cause(u.ctx))
	}
}

// isOfFeature reports whether the feature is at fault, not the server.
func isOfFeature(err error) bool {
	return errors.Is(err, store.ErrFeature) || errors.Is(err, record.ErrTooLarge) || errors.Is(err, feature.ErrTooLarge)
}

// ended is why the server has ended the upload, or nil. When a read fails, net/http
// cancels its context, as if the client had disconnected.
func (u *upload) ended() error {
	if why := context.Cause(u.ctx); !errors.Is(why, context.Canceled) {
		return why
	}
	return nil
}

// Read reads the body. Before it waits for the client, it stores the pending features
// and reports their results: a client may send one at a time and learn each result.
func (u *upload) Read(p []byte) (int, error) {
	if u.done {
		return 0, io.EOF
	}
	if err := u.store(); err != nil {
		return 0, err
	}
	if err := u.told.tell(); err != nil {
		return 0, err
	}
	u.turns.End()
	c := http.NewResponseController(u.w)
	_ = c.SetReadDeadline(time.Now().Add(u.o.IdleTimeout))
	if err := context.Cause(u.ctx); err != nil {
		return 0, err // The context may have ended before the deadline was set.
	}
	n, err := u.r.Body.Read(p)
	if u.r.ProtoMajor > 1 || errors.Is(err, io.EOF) {
		// With a deadline left set, HTTP/2 would end the stream, though nothing is read,
		// and HTTP/1 would take it for the client's end, after the body. For a body that
		// is not whole, the deadline bounds net/http's own reads.
		_ = c.SetReadDeadline(time.Time{})
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		u.done, err = true, nil
		if n == 0 {
			err = io.EOF
		}
	case u.ended() != nil:
		err = u.ended()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &statusError{http.StatusRequestTimeout, fmt.Sprintf("nothing of the body came for %v", u.o.IdleTimeout)}
	default:
		err = &statusError{http.StatusBadRequest, "the body is not whole: " + err.Error()}
	}
	return n, err
}
