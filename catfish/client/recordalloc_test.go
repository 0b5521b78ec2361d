//go:build !race

package client

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
)

// TestRecordsDoNotAllocate: once buffers are large enough, records are got and put
// without allocating, at both ends; also with shards, and for a GetMany of several
// shards. Under the race detector sync.Pool drops objects at random.
func TestRecordsDoNotAllocate(t *testing.T) {
	testRecordsDoNotAllocate(t, server.Options{Transports: []string{model.TransportSHM}})
	testRecordsDoNotAllocate(t, server.Options{Transports: []string{model.TransportSHM}, RecordShards: 2, Workers: 2})
}

func testRecordsDoNotAllocate(t *testing.T, o server.Options) {
	s := startRecords(t, o)
	ctx := t.Context()
	rec := model.Record{Key: []byte("0123456789abcdef"), Value: make([]byte, 32)}
	keys := [][]byte{rec.Key, []byte("another"), rec.Key}
	for i := range 20 {
		keys = append(keys, testKey(i))
	}
	for _, p := range []path{{policy: "fast"}, {policy: "offload"}, {policy: "offload-cached"}, {policy: "offload-cached", pointers: PointersAnswers}} {
		p.transport = model.TransportSHM
		r := dialRecords(t, s, p.options())
		if _, err := r.Put(ctx, rec, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		var dst []byte
		var many []model.Record
		for name, f := range map[string]func() error{
			"put": func() error { _, err := r.Put(ctx, rec, kv.Condition{}); return err },
			"get": func() error {
				got, err := r.Get(ctx, rec.Key, dst[:0])
				dst = got.Value
				return err
			},
			"get many": func() (err error) { many, err = r.GetMany(ctx, keys, many); return err },
		} {
			for range 50 { // Connections to owners of shards are opened meanwhile.
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}
			// Heartbeats and timers of the process allocate a little now and then, and on
			// a busy machine more of them come while the operation runs.
			n := 1.0
			for tries := 0; n >= 1 && tries < 3; tries++ {
				n = testing.AllocsPerRun(500, func() {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				})
			}
			if n >= 1 {
				t.Errorf("%s %s, %s: %v allocations", p.policy, p.pointers, name, n)
			}
		}
	}
}
