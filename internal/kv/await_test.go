package kv

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
)

// A wait ends with the write that makes the value as wanted, also if another write follows at
// once, with the context, and with the Map; and other writes do not end it.
func TestWaitFor(t *testing.T) {
	m := newMap(t, func() time.Duration { return time.Hour }, Options{})
	key := []byte("k")
	long := bytes.Repeat([]byte("long"), 50_000)
	put := func(key string, value []byte) uint64 {
		t.Helper()
		revision, err := m.Put(Entry{Key: []byte(key), Value: value, Flags: 4}, Condition{})
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	put("k", []byte("there"))
	if e, err := m.WaitFor(t.Context(), key, []byte("there")); err != nil || e.Revision != 1 || e.Flags != 4 {
		t.Errorf("what is there: %+v, %v", e, err)
	}
	type result struct {
		e   Entry
		err error
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan result, 1)
		wait := func(ctx context.Context, value []byte) {
			go func() {
				e, err := m.WaitFor(ctx, key, value)
				ended <- result{e, err}
			}()
			synctest.Wait()
		}
		for _, value := range [][]byte{[]byte("done"), nil, long} {
			wait(ctx, value)
			put("other", value)
			put("k", append([]byte("not "), value...))
			if synctest.Wait(); len(ended) > 0 {
				t.Fatalf("ended with %+v", <-ended)
			}
			revision := put("k", value)
			put("k", []byte("later"))
			if r := <-ended; r.err != nil || r.e.Revision != revision || r.e.Flags != 4 || !bytes.Equal(r.e.Value, value) {
				t.Errorf("%d bytes: revision %d, %v, want %d", len(value), r.e.Revision, r.err, revision)
			}
		}
		stopped, stop := context.WithCancel(ctx)
		wait(stopped, []byte("never"))
		stop()
		if r := <-ended; !errors.Is(r.err, context.Canceled) {
			t.Errorf("cancelled: %+v", r)
		}
		if len(m.awaited) != 0 || m.waiters != 0 {
			t.Errorf("%d waiters of %d keys are left", m.waiters, len(m.awaited))
		}
		m.waiters = MaxWaiters
		if _, err := m.WaitFor(ctx, key, []byte("never")); !errors.Is(err, fault.ErrBusy) {
			t.Errorf("too many: %v", err)
		}
		m.waiters = 0
		wait(ctx, []byte("never"))
		m.Close()
		if r := <-ended; !errors.Is(r.err, ErrClosed) {
			t.Errorf("closed: %+v", r)
		}
	})
}
