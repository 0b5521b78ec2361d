package client

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

// By every path no append is lost among those of other clients, and a read sees its own, in
// memory and kept, with and without shards.
func TestRecordAppend(t *testing.T) {
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
	for _, name := range []string{testRecords, "shards", "kept"} {
		var all sync.WaitGroup
		const each = 5
		paths := kvPaths()
		for _, p := range paths {
			r, err := dial(t, s, WithHooks(p.options(), keepYoung)).Records(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				for i := range each {
					word := fmt.Sprint(p.name, ".", i)
					if _, err := r.Append(t.Context(), model.Record{Key: []byte("log"), Value: []byte(word + " ")}, kv.Condition{}); err != nil {
						t.Errorf("%s: %v", p.name, err)
					}
					rec, err := r.Get(t.Context(), []byte("log"), nil)
					if err != nil || !strings.Contains(" "+string(rec.Value), " "+word+" ") {
						t.Errorf("%s: after append %d: %.200q, %v", p.name, i, rec.Value, err)
					}
				}
			})
		}
		all.Wait()
		r, err := admin.Records(name)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.Get(t.Context(), []byte("log"), nil)
		if n := len(strings.Fields(string(rec.Value))); err != nil || n != each*len(paths) {
			t.Errorf("%s: %d appended, want %d: %v", name, n, each*len(paths), err)
		}
		if _, err := r.Append(t.Context(), model.Record{Key: []byte("none")}, kv.Condition{IfPresent: true}); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: if present: %v", name, err)
		}
		if _, err := r.Put(t.Context(), model.Record{Key: []byte("none")}, kv.Condition{IfPresent: true}); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: put if present: %v", name, err)
		}
		if _, err := r.Append(t.Context(), model.Record{Key: []byte("log"), Value: make([]byte, 200_000)}, kv.Condition{}); !errors.Is(err, record.ErrTooLarge) {
			t.Errorf("%s: of more than a message: %v", name, err)
		}
	}
}

// A client sends nothing that an older server would refuse as malformed.
func TestAppendToOlderServer(t *testing.T) {
	s := startRecords(t, server.Options{})
	r := dialRecords(t, s, Options{})
	ses, err := r.c.conn.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ses.hello.Requests = 39 // KindSlotLoad
	if _, err := r.Append(t.Context(), model.Record{Key: []byte("k")}, kv.Condition{}); !errors.Is(err, model.ErrVersionMismatch) {
		t.Errorf("append: %v", err)
	}
	if _, err := r.Put(t.Context(), model.Record{Key: []byte("k")}, kv.Condition{IfPresent: true}); !errors.Is(err, model.ErrVersionMismatch) {
		t.Errorf("put if present: %v", err)
	}
}
