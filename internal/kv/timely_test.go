package kv

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// ReadSince believes the bytes while the place cannot have been used again, and
// compares the check sum otherwise: then it notices changed bytes.
func TestReadSince(t *testing.T) {
	now := time.Millisecond
	records, err := mapped.Map(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	var ref record.Ref
	m := newMap(t, func() time.Duration { return now }, Options{
		Records: records, Follow: func(_, to record.Ref) error { ref = to; return nil },
	})
	t.Cleanup(func() {
		m.Close()
		if err := mapped.Unmap(records); err != nil {
			t.Error(err)
		}
	})
	put := func(key string, bytes int) record.Ref {
		if _, err := m.Put(Entry{Key: []byte(key), Value: make([]byte, bytes)}, Condition{}); err != nil {
			t.Fatal(err)
		}
		return ref
	}
	b := &Buffer{}
	early := put("early", 5000)
	records[early.Offset()+100]++
	if _, err := m.ReadSince(early, 0, b); !errors.Is(err, record.ErrTorn) { // 0 is no time
		t.Error(err)
	}
	now = time.Hour
	for name, c := range map[string]struct {
		bytes int
		since time.Duration
		sum   bool // is looked at
	}{
		"in time":        {5000, now - timely + 1, false},
		"just late":      {5000, now - timely, true},
		"late":           {5000, 1, true},
		"unknown":        {5000, 0, true},
		"short":          {100, now, true},
		"several blocks": {200_000, now, true},
	} {
		ref := put(name, c.bytes)
		for _, want := range []error{nil, record.ErrDead} {
			v, err := m.ReadSince(ref, c.since, b)
			if !errors.Is(err, want) || err != nil && want == nil || string(v.Key) != name || !bytes.Equal(v.Value, make([]byte, c.bytes)) {
				t.Fatalf("%s: %v, key %q, %d bytes", name, err, v.Key, len(v.Value))
			}
			if want == nil {
				if err := m.Delete([]byte(name), Condition{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		records[ref.Offset()+uint64(32+len(name))]++ // the value, or the bytes before its blocks
		_, err := m.ReadSince(ref, c.since, b)
		if torn := errors.Is(err, record.ErrTorn) || errors.Is(err, record.ErrMalformed); torn != c.sum {
			t.Errorf("%s, changed: %v", name, err)
		}
	}
	b.LongestValue = 1000
	if v, err := m.ReadSince(put("long", 5000), now, b); err != nil || v.Value != nil || v.ValueBytes != 5000 {
		t.Errorf("a value of %d bytes, %d of them read: %v", v.ValueBytes, len(v.Value), err)
	}
	if _, err := m.ReadSince(record.RefAt(1<<40, 4096, 1), now, b); !errors.Is(err, record.ErrRef) {
		t.Error(err)
	}
	b = &Buffer{}
	long := put("again", 5000)
	if n := testing.AllocsPerRun(100, func() { _, _ = m.ReadSince(long, now, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
