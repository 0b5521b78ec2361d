package kv

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
)

// Short-lived records, written at full speed, do not pile up: at any time no more have
// expired than live, and the dead ones of one second take memory. The test never calls
// Tidy.
func TestShortLivedRecordsDoNotPileUp(t *testing.T) {
	for _, kind := range []cuckoo.Kind{cuckoo.GCuckoo, cuckoo.Compact} {
		c := &clock{}
		c.advance(time.Hour)
		m := newMap(t, c.Now, Options{Table: kind})
		const (
			every = 100 * time.Microsecond
			lives = 100 * time.Millisecond
			alive = int(lives / every)
		)
		key, most, last := make([]byte, 8), 0, uint64(0)
		for i := range 50_000 {
			c.advance(every)
			binary.LittleEndian.PutUint64(key, uint64(i))
			rev, err := m.Put(Entry{Key: key, Expiry: c.Now() + lives}, Condition{})
			if err != nil {
				t.Fatalf("%v: put %d: %v", kind, i, err)
			}
			if rev <= last {
				t.Fatalf("%v: put %d has revision %d, after %d", kind, i, rev, last)
			}
			last = rev
			// The first records die while the table grows.
			if i > 10*alive {
				most = max(most, m.Len())
			}
		}
		if s := m.Stats(); most > 3*alive || s.Records.SpanBytes > 8<<20 {
			t.Errorf("%v: up to %d records, of which %d live; spans of %d bytes", kind, most, alive, s.Records.SpanBytes)
		}
	}
}

// Removing expired records allocates nothing.
func TestExpiryAllocatesNothing(t *testing.T) {
	c := &clock{}
	c.advance(time.Hour)
	m := newMap(t, c.Now, Options{})
	key := make([]byte, 8)
	for i := range 10_000 {
		binary.LittleEndian.PutUint64(key, uint64(i))
		if _, err := m.Put(Entry{Key: key, Expiry: c.Now() + time.Second}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(time.Second)
	m.Tidy(64)
	before := m.Len()
	if n := testing.AllocsPerRun(10, func() { m.Tidy(64) }); n != 0 || m.Len() == before {
		t.Errorf("%.0f allocations, %d records, %d before", n, m.Len(), before)
	}
}
