package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
)

// By every path a wait ends with the write that makes a value as wanted, in memory and kept, and
// what is read after it is that record.
func TestRecordWaitFor(t *testing.T) {
	s := startRecords(t, server.Options{DataDir: t.TempDir(), Workers: 2})
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := dial(t, s, Options{})
	for name, o := range map[string]model.RecordsOptions{"shards": {Shards: 2}, "kept": {Keep: true}} {
		if err := admin.CreateRecords(t.Context(), name, o); err != nil {
			t.Fatal(err)
		}
	}
	key := []byte("job")
	for _, name := range []string{testRecords, "shards", "kept"} {
		w, err := admin.Records(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range kvPaths() {
			r, err := dial(t, s, WithHooks(p.options(), keepYoung)).Records(name)
			if err != nil {
				t.Fatal(err)
			}
			put := func(value string) uint64 {
				t.Helper()
				revision, err := w.Put(t.Context(), model.Record{Key: key, Value: []byte(value), Flags: 2}, kv.Condition{})
				if err != nil {
					t.Fatal(err)
				}
				return revision
			}
			put("begun")
			if _, err := r.Get(t.Context(), key, nil); err != nil { // so that a reference is kept
				t.Fatal(err)
			}
			done := make(chan error, 1)
			var rec model.Record
			go func() {
				var err error
				if rec, err = r.WaitFor(t.Context(), key, []byte("done")); err == nil {
					var is model.Record
					if is, err = r.Get(t.Context(), key, nil); err == nil && is.Revision != rec.Revision {
						err = errors.New("a read after it gives another record")
					}
				}
				done <- err
			}()
			put("half")
			revision := put("done")
			if err := <-done; err != nil || rec.Revision != revision || rec.Flags != 2 || string(rec.Value) != "done" {
				t.Errorf("%s, %s: %+v, %v, want revision %d", name, p.name, rec, err, revision)
			}
		}
	}
}

// A wait ends with its context, which has its own cause, and with the collection; and a server
// that closes does not wait for it.
func TestRecordWaitForEnds(t *testing.T) {
	s := startRecords(t, server.Options{})
	for _, transport := range append([]string{model.TransportTCP}, oneSided...) {
		o := Options{Transport: transport, Policy: "fast"}
		if transport == model.TransportTCP {
			o.Policy = ""
		}
		c := dial(t, s, o)
		if err := c.CreateRecords(t.Context(), "mine", model.RecordsOptions{}); err != nil {
			t.Fatal(err)
		}
		r, err := c.Records("mine")
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.Records(testRecords)
		if err != nil {
			t.Fatal(err)
		}
		late := errors.New("it took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, late)
		_, err = other.WaitFor(ctx, []byte("k"), []byte("never"))
		if cancel(); !errors.Is(err, late) {
			t.Errorf("%s: %v", transport, err)
		}
		if _, err := r.WaitFor(t.Context(), nil, nil); !errors.Is(err, model.ErrOption) {
			t.Errorf("%s: for no key: %v", transport, err)
		}
		m, err := s.Records("mine")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := r.WaitFor(t.Context(), []byte("k"), []byte("never"))
			ended <- err
		}()
		catfishtest.Eventually(t, "it waits", func() bool { return m.Waiters() == 1 })
		if _, err := c.DropCollection(t.Context(), "mine"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, model.ErrUnknownCollection) {
			t.Errorf("%s: dropped: %v", transport, err)
		}
	}
}
