package client

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

// keepRecords makes the records of a server kept ones.
func keepRecords(t testing.TB, o *server.Options) {
	o.Records, o.Keep, o.DataDir = []string{testRecords}, []string{testRecords}, filepath.Join(t.TempDir(), "data")
}

func startKeptRecords(t testing.TB, o server.Options) *server.Server {
	keepRecords(t, &o)
	s := startServer(t, o)
	if err := s.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func newKeptRecordLives(t *testing.T, shards int) *lives {
	l := newLives(t)
	l.stop()
	keepRecords(t, &l.opts)
	l.opts.RecordShards, l.opts.SlabBytes, l.opts.MemoryLimit = shards, 256<<20, largeMemory
	l.opts = server.WithServerHooks(l.opts, neverResident)
	l.opts.BackupDir = filepath.Join(t.TempDir(), "backups")
	l.start()
	l.waitReady()
	return l
}

func sameRecord(got, want model.Record) bool {
	return bytes.Equal(got.Value, want.Value) && got.Flags == want.Flags && got.Revision == want.Revision && got.Expires.Equal(want.Expires)
}

// TestKeptRecords: records that clients of all paths write, in parts or not, exist after
// each restart, with flags, expiry and revision, and clients continue without an error: the
// collection is not empty, as one in memory alone would be.
func TestKeptRecords(t *testing.T) {
	for _, shards := range []int{0, 2} {
		t.Run(fmt.Sprint("shards=", shards), func(t *testing.T) {
			l := newKeptRecordLives(t, shards)
			ctx := t.Context()
			ps := kvPaths()
			var clients []*Records
			for _, p := range ps {
				clients = append(clients, dialRecords(t, l.Server, p.options()))
			}
			want := map[int]model.Record{}
			expires := time.Now().Add(time.Hour).Truncate(time.Microsecond)
			for life := range 3 {
				for i, r := range clients {
					for n, bytes := range []int{0, 100, 5000, 200_000}[:3+i%2] {
						rec := model.Record{Key: testKey(10*i + n), Value: numbered(uint64(life), bytes), Flags: uint16(life)}
						if n == 1 {
							rec.Expires = expires
						}
						cond := kv.Condition{IfRevision: want[10*i+n].Revision, IfAbsent: life == 0}
						revision, err := r.Put(ctx, rec, cond)
						if err != nil {
							t.Fatalf("%s: put %d: %v", ps[i].name, n, err)
						}
						if before := want[10*i+n].Revision; revision <= before {
							t.Errorf("revision %d after %d", revision, before)
						}
						rec.Revision = revision
						want[10*i+n] = rec
						if _, err := r.Put(ctx, rec, kv.Condition{IfAbsent: true}); !errors.Is(err, kv.ErrExists) || !RetrySafe(err) {
							t.Errorf("%s: %v", ps[i].name, err)
						}
						if err := r.Delete(ctx, rec.Key, kv.Condition{IfRevision: revision + 1000}); !errors.Is(err, kv.ErrConflict) || !RetrySafe(err) {
							t.Errorf("%s: %v", ps[i].name, err)
						}
					}
					gone := testKey(10*i + 9)
					if _, err := r.Put(ctx, model.Record{Key: gone}, kv.Condition{IfAbsent: true}); err != nil {
						t.Fatal(err)
					}
					if err := r.Delete(ctx, gone, kv.Condition{}); err != nil {
						t.Fatal(err)
					}
					if err := r.Delete(ctx, gone, kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
						t.Errorf("%s: %v", ps[i].name, err)
					}
				}
				byKey := map[string]model.Record{}
				for _, rec := range want {
					byKey[string(rec.Key)] = rec
				}
				verify := func(what string) {
					t.Helper()
					for i, r := range clients {
						for range 2 { // kept references answer the second time
							for n, rec := range want {
								// In each life its own, the next client's and a third of all
								// others': of all clients in three lives.
								by := (n/10 - i + len(clients)) % len(clients)
								if by > 1 && by%3 != life {
									continue
								}
								got, err := r.Get(ctx, rec.Key, nil)
								if err != nil || !sameRecord(got, rec) {
									t.Fatalf("%s, %s: get %d: %d bytes, %d of %d, %v, %v", what, ps[i].name, n, len(got.Value), got.Revision, rec.Revision, got.Expires, err)
								}
							}
						}
						n := 0
						for rec, err := range r.Scan(ctx) {
							if n++; err != nil || !sameRecord(rec, byKey[string(rec.Key)]) {
								t.Fatalf("%s, %s: scan: %q, %d bytes, %d, %v, %v", what, ps[i].name, rec.Key, len(rec.Value), rec.Revision, rec.Expires, err)
							}
						}
						if n != len(want) {
							t.Errorf("%s, %s: %d records, want %d", what, ps[i].name, n, len(want))
						}
					}
				}
				verify(fmt.Sprint("life ", life))
				l.restart()
				l.waitReady()
				verify(fmt.Sprint("restarted ", life))
			}
			b, err := l.Backup("monday")
			if err != nil || b.Records != uint64(len(want)) || b.Features != 0 {
				t.Errorf("backup: %+v, %v, want %d records", b, err, len(want))
			}
		})
	}
}

// TestKeptRecordsOfProcess: the process writes kept records through the store, and gets no
// Map that the store would not learn of.
func TestKeptRecordsOfProcess(t *testing.T) {
	s := startKeptRecords(t, server.Options{})
	in, err := s.KeptRecords(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	revision, err := in.Put(kv.Entry{Key: testKey(1), Value: []byte("1"), Flags: 7}, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := dialRecords(t, s, Options{}).Get(t.Context(), testKey(1), nil)
	if err != nil || string(rec.Value) != "1" || rec.Revision != revision || rec.Flags != 7 {
		t.Error(rec, err)
	}
	for what, f := range map[string]func() error{
		"Records":             func() error { _, err := s.Records(testRecords); return err },
		"RecordShards":        func() error { _, err := s.RecordShards(testRecords); return err },
		"CreateRecords":       func() error { _, err := s.CreateRecords(testRecords, model.RecordsOptions{}); return err },
		"CreateRecordShards":  func() error { _, err := s.CreateRecordShards("n", model.RecordsOptions{Keep: true}); return err },
		"CreateRecords, kept": func() error { _, err := s.CreateRecords("n", model.RecordsOptions{Keep: true}); return err },
	} {
		if err := f(); !errors.Is(err, model.ErrNotPermitted) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c, err := s.CreateKeptRecords("n", model.RecordsOptions{Shards: 2}); err != nil || len(c.Maps()) != 2 {
		t.Error(c, err)
	}
	if _, err := s.CreateRecords("memory", model.RecordsOptions{}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"memory", model.DefaultCollection} {
		if _, err := s.KeptRecords(name); !errors.Is(err, model.ErrKind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClientsKeepRecords: a client creates and drops kept records.
func TestClientsKeepRecords(t *testing.T) {
	l := newKeptRecordLives(t, 0)
	ctx := t.Context()
	c := dial(t, l.Server, Options{Transport: model.TransportTCP})
	for name, o := range map[string]model.RecordsOptions{
		"memory": {}, "kept": {Keep: true}, "shards": {Keep: true, Shards: 3, Items: 2}, "dropped": {Keep: true},
	} {
		if err := c.CreateRecords(ctx, name, o); err != nil {
			t.Fatal(err)
		}
		r, err := c.Records(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Put(ctx, model.Record{Key: testKey(1), Value: []byte(name)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CreateRecords(ctx, "memory", model.RecordsOptions{Keep: true}); !errors.Is(err, model.ErrCollectionExists) || !RetrySafe(err) {
		t.Error(err)
	}
	if ok, err := c.DropCollection(ctx, "dropped"); !ok || err != nil {
		t.Error(ok, err)
	}
	l.restart()
	l.waitReady()
	all, err := c.Collections(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var is []string
	for _, i := range all {
		if i.Kind == model.KindRecords {
			is = append(is, fmt.Sprint(i.Name, i.Objects, i.Shards, i.Kept))
		}
	}
	if want := []string{"kept1 0 true", "records0 0 true", "shards1 3 true"}; !slices.Equal(is, want) {
		t.Errorf("%q, want %q", is, want)
	}
	if ok, err := c.DropCollection(ctx, "kept"); !ok || err != nil { // as a client may before the restart
		t.Error(ok, err)
	}
	c.conn.sessions.latest().hello.KeepsRecords = false
	if err := c.CreateRecords(ctx, "new", model.RecordsOptions{Keep: true}); !errors.Is(err, model.ErrVersionMismatch) {
		t.Error(err)
	}
	if err := c.CreateRecords(ctx, "new", model.RecordsOptions{}); err != nil {
		t.Error(err)
	}
	s := startServer(t, server.Options{})
	if err := dial(t, s, Options{}).CreateRecords(ctx, "a", model.RecordsOptions{Keep: true}); !errors.Is(err, model.ErrNotPermitted) || !RetrySafe(err) {
		t.Error(err)
	}
}

// TestKeptValuesInParts: values in parts are kept up to the limit, and a larger one changes
// nothing.
func TestKeptValuesInParts(t *testing.T) {
	l := newKeptRecordLives(t, 0)
	ctx, limit := t.Context(), largeMemory/36
	r := dialRecords(t, l.Server, Options{})
	_, err := r.Put(ctx, model.Record{Key: testKey(1), Value: make([]byte, limit+1)}, kv.Condition{})
	if !errors.Is(err, record.ErrTooLarge) || !RetrySafe(err) {
		t.Error(err)
	}
	if _, err := r.Get(ctx, testKey(1), nil); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
	value := numbered(7, limit)
	for range 3 {
		if _, err := r.Put(ctx, model.Record{Key: testKey(1), Value: value, Flags: 9}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Put(ctx, model.Record{Key: testKey(1), Value: numbered(8, limit)}, kv.Condition{IfAbsent: true}); !errors.Is(err, kv.ErrExists) {
		t.Error(err)
	}
	nothingHeld(t, l.Server)
	l.restart()
	l.waitReady()
	if got, err := r.Get(ctx, testKey(1), nil); err != nil || !bytes.Equal(got.Value, value) || got.Flags != 9 {
		t.Error(len(got.Value), got.Flags, err)
	}
}
