package server

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
)

// kvPaths are the paths on which clients get records.
func kvPaths() []path {
	ps := []path{{name: "tcp", transport: model.TransportTCP, policy: "tcp"}}
	for _, tr := range oneSided {
		for _, p := range []string{"fast", "fetch", "offload-single", "offload", "offload-cached", "paper", "default"} {
			ps = append(ps, path{name: tr + "/" + p, transport: tr, policy: p})
		}
	}
	return ps
}

const testRecords = "records"

func startRecords(t testing.TB, opts Options) *Server {
	opts.Records = []string{testRecords}
	return startServer(t, opts)
}

// dialRecords keeps references of records of any age: tests take less than a second.
func dialRecords(t testing.TB, s *Server, o client.Options) *client.Records {
	t.Helper()
	o = client.WithHooks(o, keepYoung)
	r, err := dial(t, s, o).Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordsAreCreatedAndDropped: clients create collections of records and drop them; a new one
// of the same name is another, also for clients that opened the old one.
func TestRecordsAreCreatedAndDropped(t *testing.T) {
	s := startServer(t, Options{})
	ctx := t.Context()
	for _, p := range kvPaths() {
		c := dial(t, s, p.options())
		r, err := c.Records("mine")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Get(ctx, []byte("k"), nil); !errors.Is(err, model.ErrUnknownCollection) {
			t.Fatalf("%s: before it was created: %v", p.name, err)
		}
		for round := range 3 {
			if err := c.CreateRecords(ctx, "mine", model.RecordsOptions{Items: 1 + 2*round, Shards: 4 - 2*round}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(ctx, []byte("k"), nil); !errors.Is(err, kv.ErrNotFound) {
				t.Fatalf("%s, round %d: in a new collection: %v", p.name, round, err)
			}
			value := fmt.Appendf(nil, "round %d", round)
			if _, err := r.Put(ctx, model.Record{Key: []byte("k"), Value: value}, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if rec, err := r.Get(ctx, []byte("k"), nil); err != nil || !bytes.Equal(rec.Value, value) {
					t.Fatalf("%s, round %d: %q, %v", p.name, round, rec.Value, err)
				}
			}
			if ok, err := c.DropCollection(ctx, "mine"); err != nil || !ok {
				t.Fatal(ok, err)
			}
			waitDropped(s) // A client may offload until the memory is released.
			if _, err := r.Get(ctx, []byte("k"), nil); !errors.Is(err, model.ErrUnknownCollection) {
				t.Fatalf("%s, round %d: of a dropped collection: %v", p.name, round, err)
			}
		}
	}
}
