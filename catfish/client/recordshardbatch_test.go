package client

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestGetsOfShardsTogether: gets that a worker finds mixed, of all shards and of another
// collection, each get their own answer: for short values, for values of which few fit
// into the answers of a call, for one that is answered in pieces, and for missing keys.
func TestGetsOfShardsTogether(t *testing.T) {
	for _, tr := range oneSided {
		s := startRecords(t, server.Options{Workers: 1, RecordShards: 3})
		other, err := s.CreateRecords("other", model.RecordsOptions{})
		if err != nil {
			t.Fatal(err)
		}
		shards, err := s.RecordShards(testRecords)
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int{1, 30, 40_000, 200_000, 20, -1, 400_000, 3, wire.MostValue + 1, -1, 60_000, 5, 0}
		value := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, sizes[i]) }
		for i, n := range sizes {
			if n < 0 {
				continue
			}
			e := kv.Entry{Key: testKey(i), Value: value(i)}
			if _, err := shards.Of(e.Key).Put(e, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			e.Value = fmt.Appendf(nil, "other %d", i)
			if _, err := other.Put(e, kv.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
		var clients []*Client
		for range 3 {
			c := dial(t, s, Options{Transport: tr, Policy: "fast"})
			clients = append(clients, c)
			for _, name := range []string{testRecords, "other"} {
				r, err := c.Records(name)
				if err != nil {
					t.Fatal(err)
				}
				for i := range sizes { // This opens all shards.
					_, _ = r.Get(t.Context(), testKey(i), nil)
				}
			}
		}
		before := s.Stats().Records[testRecords]
		s.PauseWorkers()
		var group sync.WaitGroup
		for _, c := range clients {
			mine, _ := c.Records(testRecords)
			others, _ := c.Records("other")
			for range 3 {
				for i, n := range sizes {
					group.Go(func() {
						rec, err := mine.Get(t.Context(), testKey(i), nil)
						if n < 0 {
							if !errors.Is(err, kv.ErrNotFound) {
								t.Errorf("%s: key %d: %v", tr, i, err)
							}
						} else if err != nil || !bytes.Equal(rec.Value, value(i)) {
							t.Errorf("%s: key %d: %d bytes, want %d, %v", tr, i, len(rec.Value), n, err)
						}
					})
				}
			}
			group.Go(func() {
				rec, err := others.Get(t.Context(), testKey(0), nil)
				if err != nil || string(rec.Value) != "other 0" {
					t.Errorf("%s: of another collection: %q, %v", tr, rec.Value, err)
				}
			})
		}
		s.ResumeWorkers()
		group.Wait()
		asked := uint64(0)
		for i, one := range s.Stats().Records[testRecords].Shards {
			asked += one.Owned - before.Shards[i].Owned
		}
		if want := uint64(len(clients) * 3 * len(sizes)); asked < want || asked > 2*want {
			t.Errorf("%s: %d requests for %d gets", tr, asked, want)
		}
	}
}
