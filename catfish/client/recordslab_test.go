package client

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

// TestRecordsGrow: where memory is pinned, the memory of records and of their keys is
// registered as it is used, and clients that offload find the new regions.
func TestRecordsGrow(t *testing.T) {
	s, p := startPinning(t, model.TransportSoft, model.TransportSoft, model.TransportSHM)
	ctx := t.Context()
	admin := dial(t, s, Options{Transport: model.TransportSoft, Policy: "fast"})
	if err := admin.CreateRecords(ctx, testRecords, model.RecordsOptions{}); err != nil {
		t.Fatal(err)
	}
	m, err := s.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	cached := dialRecords(t, s, Options{Transport: model.TransportSoft, Policy: "offload-cached"})
	local := dialRecords(t, s, Options{Transport: model.TransportSHM, Policy: "offload"})
	const keys = 40_000
	for i := range keys {
		if _, err := m.Put(kv.Entry{Key: testKey(i), Value: bytes.Repeat([]byte{byte(i)}, 200)}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
		if i%200 != 0 {
			continue
		}
		for _, r := range []*Records{cached, local} {
			for _, k := range []int{i, i / 2} {
				if rec, err := r.Get(ctx, testKey(k), nil); err != nil || len(rec.Value) != 200 || rec.Value[7] != byte(k) {
					t.Fatalf("key %d of %d: %d bytes, %v", k, i, len(rec.Value), err)
				}
			}
		}
	}
	regions := len(p.Sizes())
	st := s.Stats().Records[testRecords]
	if st.Records.SpanBytes < 8<<20 || st.Index.Bytes < 1<<20 || regions < 6 {
		t.Errorf("%d bytes of records, %d of keys, %d regions: too little grew", st.Records.SpanBytes, st.Index.Bytes, regions)
	}
	// Each growth costs a client one Get or two that it cannot offload.
	if n := cached.c.Counters(); n.OffloadedGets < 300 || n.FellBack == 0 || n.FellBack > 20 || n.Reconnects > 0 {
		t.Errorf("%d gets offloaded, %d fell back, %d reconnects", n.OffloadedGets, n.FellBack, n.Reconnects)
	}
}

// TestRecordsCannotGrow: when no more can be registered, puts fail with an error and change
// nothing; gets and deletes continue, and so do puts when there is room again.
func TestRecordsCannotGrow(t *testing.T) {
	s, p := startPinning(t, model.TransportSoft, model.TransportSoft)
	ctx := t.Context()
	c := dial(t, s, Options{Transport: model.TransportSoft, Policy: "offload"})
	if err := c.CreateRecords(ctx, testRecords, model.RecordsOptions{}); err != nil {
		t.Fatal(err)
	}
	r, _ := c.Records(testRecords)
	p.May(1 << 20)
	put := func(i int) error {
		_, err := r.Put(ctx, model.Record{Key: testKey(i), Value: make([]byte, 500)}, kv.Condition{})
		return err
	}
	n, err := 0, error(nil)
	for ; err == nil && n < 100_000; n++ {
		err = put(n)
	}
	if n--; !errors.Is(err, record.ErrFull) || !RetrySafe(err) || !strings.Contains(err.Error(), catfishtest.ErrPinned.Error()) {
		t.Fatalf("after %d puts: %v", n, err)
	}
	if _, err := r.Get(ctx, testKey(n), nil); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("what was refused: %v", err)
	}
	for i := range n {
		if _, err := r.Get(ctx, testKey(i), nil); err != nil {
			t.Fatalf("key %d of %d: %v", i, n, err)
		}
	}
	if err := r.Delete(ctx, testKey(0), kv.Condition{}); err != nil {
		t.Error(err)
	}
	p.May(1 << 30)
	for i := range 5000 {
		if err := put(n + i); err != nil {
			t.Fatal(err)
		}
	}
}
